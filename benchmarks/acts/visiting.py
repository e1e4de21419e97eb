"""A member of staff who opens every page of the console, with a watch.

Every page means: whatever is linked from the dashboard, from the pages linked there, and so on; of pages that
differ only in which row they show, or in the value that they are filtered by, the first one found.
"""

import re
import time
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse

from scheduling import sweeps
from scheduling.audit import Actor, Via
from scheduling.models import Sweep, Task
from tenants.models import Tenant

LINK = re.compile(r'(?:href|hx-get)="([^"#]+)"')
NO_OTHER_PAGE = frozenset({"_changelist_filters"})
"""What addresses carry only to find the way back."""
LEFT_OUT = ("console:logout", "console:jsi18n", "console:password_change")
MOST_FILTERS = 1
"""Links to combinations of more are not followed."""
OK = 200

Kind = tuple[str, frozenset[str]]


def time_pages(rounds: int) -> dict[str, dict[str, Any]]:
    """By page: milliseconds of each visit but the first, and how many queries it took."""
    call_command("collectstatic", interactive=False, verbosity=0)
    client = Client(HTTP_HOST="127.0.0.1")
    client.force_login(User.objects.create_superuser("bench"))
    pages = {name: address for name, address, _ in _pages(client)}
    return {name: _timed(client, address, rounds) for name, address in pages.items()}


def _timed(client: Client, address: str, rounds: int) -> dict[str, Any]:
    milliseconds = []
    for _ in range(rounds):
        begun = time.perf_counter()
        _get(client, address)
        milliseconds.append((time.perf_counter() - begun) * 1000)
    with CaptureQueriesContext(connection) as queries:
        _get(client, address)
    return {"ms": milliseconds, "queries": len(queries)}


def _pages(client: Client) -> Iterator[tuple[str, str, str]]:
    """Name, address and text of each, as it is found."""
    seen: set[Kind] = set()
    left = list(_doors())
    while left:
        address = left.pop(0)
        kind = _kind(address)
        if kind is None or kind in seen:
            continue
        seen.add(kind)
        text = _get(client, address)
        if text is None:
            continue
        yield _name(kind), address, text
        left += [unescape(urljoin(address, link)) for link in LINK.findall(text)]


def _doors() -> Iterator[str]:
    """Where to begin: the dashboard, and what nothing links to: searches, and the pages of those who have most."""
    yield reverse("admin:index")
    loudest = Tenant.objects.order_by("pk")[0]
    yield reverse("admin:tenants_tenant_change", args=[loudest.pk])
    dead = Task.objects.dead().filter(tenant=loudest).order_by("-pk")[0]
    yield reverse("admin:scheduling_task_change", args=[dead.pk])
    tasks = reverse("admin:scheduling_task_changelist")
    yield f"{tasks}?q={dead.pk}"
    yield f"{reverse('admin:scheduling_deadletter_changelist')}?tenant={loudest.slug}"
    yield f"{tasks}?tenant={loudest.slug}"
    yield f"{tasks}?name=reports.build"
    yield reverse("admin:scheduling_deadletter_sweep", args=[_sweep_of(loudest).pk])


def _sweep_of(tenant: Tenant) -> Sweep:
    """One that is under way and stays so, as no worker is there."""
    return sweeps.begin(
        Sweep.Operation.REDRIVE,
        {"tenant": tenant.slug},
        which=f"all dead letters of {tenant}",
        by=Actor("bench", Via.CONSOLE),
    )


def _kind(address: str) -> Kind | None:
    """What makes a page another one. None: not of the console, or not to be asked for."""
    parts = urlsplit(address)
    if not parts.path.startswith(reverse("admin:index")):
        return None
    view = resolve(parts.path).view_name
    asked = frozenset(parse_qs(parts.query)) - NO_OTHER_PAGE
    return None if view in LEFT_OUT or len(asked) > MOST_FILTERS else (view, asked)


def _name(kind: Kind) -> str:
    view, asked = kind
    page = view.removeprefix("console:").removeprefix("scheduling_").replace("_", " ")
    return f"{page} by {', '.join(sorted(asked))}" if asked else page


def _get(client: Client, address: str) -> str | None:
    """The text of the page. None: it is none, but a file to keep."""
    answer = client.get(address)
    if answer.status_code != OK:
        raise RuntimeError(f"{address} answered {answer.status_code}.")
    return None if answer.streaming else answer.content.decode()
