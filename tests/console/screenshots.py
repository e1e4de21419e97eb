"""Pictures of the main pages: `python -m tests.console.screenshots FOLDER`.

An installation of its own in a temporary folder, filled with the demo's day.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "DEBUG": "1"}
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # the loop in this thread is Playwright's

import django
from playwright.sync_api import Page

from tests.console.browser import DARK, LIGHT, PHONE, Look, chromium, window

TALL_PHONE = replace(PHONE, height=1700)


@dataclass(frozen=True, slots=True)
class Picture:
    name: str
    address: Callable[[], str]
    look: Look = LIGHT
    is_whole: bool = True
    """Or only what fits into the look."""


def at(address: str) -> Callable[[], str]:
    return lambda: address


def dead_task() -> str:
    from scheduling.models import Task

    task = Task.objects.dead().filter(attempts=3).order_by("-pk")[0]
    return f"/admin/scheduling/task/{task.pk}/change/"


def waiting_task() -> str:
    from scheduling.models import Schedule

    task = Schedule.objects.filter(lane__tenant__slug="acme").order_by("pk")[0].task
    return f"/admin/scheduling/task/{task.pk}/change/"


def tenant(slug: str) -> Callable[[], str]:
    def address() -> str:
        from tenants.models import Tenant

        return f"/admin/tenants/tenant/{Tenant.objects.get(slug=slug).pk}/change/"

    return address


def recurring(name: str, page: str) -> Callable[[], str]:
    def address() -> str:
        from scheduling.models import RecurringTask

        row = RecurringTask.objects.get(name=name)
        return f"/admin/scheduling/recurringtask/{row.pk}/{page}/"

    return address


PICTURES = (
    Picture("dashboard", at("/admin/")),
    Picture("dashboard-dark", at("/admin/?period=day"), DARK),
    Picture("dashboard-phone", at("/admin/"), TALL_PHONE, is_whole=False),
    Picture("tenant", tenant("hooli")),
    Picture("tenant-phone", tenant("acme"), TALL_PHONE, is_whole=False),
    Picture("task", dead_task),
    Picture("waiting", waiting_task, is_whole=False),
    Picture("dead-letters", at("/admin/scheduling/deadletter/"), is_whole=False),
    Picture(
        "redrive", at("/admin/scheduling/deadletter/redrive-all/?tenant=initech"), is_whole=False
    ),
    Picture("recurring", at("/admin/scheduling/recurringtask/")),
    Picture("recurring-task", recurring("partner-sync", "change"), is_whole=False),
    Picture("recurring-form", recurring("nightly-report", "edit"), is_whole=False),
    Picture("kill-switch", at("/admin/scheduling/pause/")),
)


def main(folder: Path, *names: str) -> None:
    """All of them, or those named."""
    folder.mkdir(parents=True, exist_ok=True)
    with _installation() as site, chromium() as browser:
        for picture in PICTURES:
            if names and picture.name not in names:
                continue
            with window(browser, picture.look, site) as context:
                context.add_cookies([{"name": "sessionid", "value": _session(), "url": site}])
                page = context.new_page()
                page.goto(picture.address())
                _take(page, folder / f"{picture.name}.png", picture)


def _take(page: Page, path: Path, picture: Picture) -> None:
    page.screenshot(path=path, full_page=picture.is_whole)
    sys.stdout.write(f"{path}\n")


@contextmanager
def _installation() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="rentroll-") as data:
        os.environ |= {"DATA_DIR": data, "DATABASE_URL": f"sqlite:///{data}/demo.db"}
        django.setup()
        from django.core.management import call_command

        from scheduling import clock
        from tests.console.demo import Demo
        from tests.console.serving import serving

        call_command("migrate", verbosity=0)
        Demo(clock.now()).build()
        with serving() as site:
            yield site


def _session() -> str:
    from django.contrib.auth.models import User
    from django.test import Client

    user, _ = User.objects.get_or_create(
        username="maria", defaults={"is_staff": True, "is_superuser": True}
    )
    client = Client()
    client.force_login(user)
    return str(client.cookies["sessionid"].value)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
