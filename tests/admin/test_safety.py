"""What is stored by others is inert in the console, and its pages need no other host."""

import re
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from django.contrib.staticfiles import finders
from django.db.models import CharField, TextField
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from scheduling import clock, ledger
from scheduling.admin.site import console
from scheduling.models import OperatorAction, RecurringTask, Task
from tenants.models import ApiToken, Tenant
from tests.admin.kit import (
    DEAD_LETTERS,
    PAUSES,
    RECURRING,
    TASKS,
    Page,
    bury,
    page,
    put,
    text_of,
    worker,
)
from tests.ledger.recurring.kit import recurring

pytestmark = pytest.mark.ledger

OF_A_RECURRING_TASK = ("change", "edit", "pause", "resume", "run", "backfill", "delete")
HOSTILE = "<script>alert('%s')</script><img src=x onerror=alert(1)>"


class Loaded(HTMLParser):
    """What a browser would load or run for a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.inline: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [
            value
            for name, value in attrs
            if name in ("src", "href", "action", "formaction") and value
        ]
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)
        if tag == "img" and given.get("src") == "x":
            self.inline.append("the hostile image")


@pytest.fixture
def pages(operator: Client, tenant_a: Tenant) -> dict[str, Page]:
    """Every page there is, full of what a hostile tenant may store."""
    (dead,) = bury(
        tenant_a,
        name=HOSTILE % "name",
        queue=HOSTILE % "queue",
        kwargs={HOSTILE % "member": HOSTILE % "payload"},
        idempotency_key=HOSTILE % "key",
        message=HOSTILE % "error",
    )
    (waiting,) = put(tenant_a, name=HOSTILE % "waiting", due_at=clock.now() + timedelta(hours=1))
    ledger.pause(name=HOSTILE % "paused", reason=HOSTILE % "reason", by=HOSTILE % "by")
    token, _ = ApiToken.objects.issue(tenant=tenant_a, name=HOSTILE % "token")
    recurs = recurring(tenant_a, now=clock.now())
    hostile = ("name", "task_name", "queue", "disabled_reason")
    RecurringTask.objects.update(fires_at=None, **{field: HOSTILE % field for field in hostile})
    Tenant.objects.update(name=HOSTILE % "tenant")
    worker()
    addresses = [
        "/admin/",
        TASKS,
        f"{TASKS}?name={HOSTILE % 'filter'}",
        page(dead),
        f"{TASKS}{waiting}/reschedule/",
        page(waiting),
        DEAD_LETTERS,
        f"{DEAD_LETTERS}redrive-all/?name={HOSTILE % 'name'}",
        PAUSES,
        f"{PAUSES}add/",
        RECURRING,
        f"{RECURRING}add/?name={HOSTILE % 'name'}",
        f"{RECURRING}preview/?cron={HOSTILE % 'cron'}",
        *(f"{RECURRING}{recurs.pk}/{what}/" for what in OF_A_RECURRING_TASK),
        "/admin/tenants/tenant/",
        f"/admin/tenants/tenant/{tenant_a.pk}/change/",
        "/admin/tenants/apitoken/",
        f"/admin/tenants/apitoken/{token.pk}/change/",
        "/admin/tenants/apitoken/add/",
        "/admin/scheduling/workerprocess/",
        "/admin/scheduling/lane/",
    ]
    loaded = {address: operator.get(address) for address in addresses}
    loaded["confirm pause"] = operator.post(f"{PAUSES}add/", {"reason": HOSTILE % "why"})
    loaded["confirm discard"] = operator.post(f"{TASKS}discard/", {"task": [dead]})
    loaded["sweeping"] = operator.post(
        f"{DEAD_LETTERS}redrive-all/?name={HOSTILE % 'name'}",
        {"reason": HOSTILE % "why"},
        follow=True,
    )
    loaded["token issued"] = operator.post(
        "/admin/tenants/apitoken/add/", {"name": HOSTILE % "new", "scopes": ["read"]}
    )
    latest = OperatorAction.objects.order_by("-pk")[0]
    for audit in ("", f"{latest.pk}/change/"):
        address = f"/admin/scheduling/operatoraction/{audit}"
        loaded[address] = operator.get(address)
    return loaded


def test_every_page_is_served(pages: dict[str, Page]) -> None:
    assert {response.status_code for response in pages.values()} == {200}


def test_every_page_takes_few_queries(
    operator: Client,
    pages: dict[str, Page],
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for address in pages:
        if address.startswith("/"):
            with django_assert_max_num_queries(15, info=address):
                operator.get(address)


def test_nothing_stored_becomes_markup(pages: dict[str, Page]) -> None:
    told = [address for address, response in pages.items() if b"&lt;script&gt;" in response.content]
    assert len(told) > 10  # the hostile text is there, as text
    for address, response in pages.items():
        assert b"<script>alert" not in response.content, address
        assert b"<img src=x" not in response.content, address


def test_no_page_has_inline_scripts_or_styles(pages: dict[str, Page]) -> None:
    found = {
        address: Loaded(response.content.decode()).inline for address, response in pages.items()
    }
    assert {address: inline for address, inline in found.items() if inline} == {}


def test_no_page_asks_another_host(pages: dict[str, Page]) -> None:
    for address, response in pages.items():
        for target in Loaded(response.content.decode()).addresses:
            assert re.match(r"(/(?!/)|\?|#|\.|[a-z-]+/)", target), f"{address} loads {target}"


def test_every_page_forbids_what_it_does_without(pages: dict[str, Page]) -> None:
    for address, response in pages.items():
        policy = response["Content-Security-Policy"]
        assert "default-src 'none'" in policy, address
        assert "unsafe" not in policy, address


def test_our_own_files_load_nothing_from_elsewhere() -> None:
    for name in ("console.css", "live.js"):
        path = finders.find(f"rentroll/{name}")
        assert path
        with open(str(path)) as file:  # noqa: PTH123  # finders answer with text
            assert not re.search(r"https?://|@import|url\(", file.read())


def test_the_console_is_not_framed_nor_cached(operator: Client) -> None:
    response = operator.get("/admin/")
    assert response["X-Frame-Options"] == "DENY"
    assert "no-store" in response["Cache-Control"]
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/admin/nowhere/", 404, "There is nothing at this address."),
        ("/admin/scheduling/task/add/", 403, "Your permissions do not cover this."),
        ("/admin/scheduling/task/?secret=1", 400, "The request was not one that a page"),
    ],
)
def test_errors_are_told_to_people(operator: Client, address: str, status: int, said: str) -> None:
    response = operator.get(address)
    assert response.status_code == status
    assert said in text_of(response)
    assert Loaded(response.content.decode()).inline == []


def test_a_form_of_another_site_does_nothing(operator: Client, tenant_a: Tenant) -> None:
    (task_id,) = bury(tenant_a)
    browser = Client(enforce_csrf_checks=True)
    browser.cookies = operator.cookies
    response = browser.post(f"{TASKS}discard/", {"task": [task_id], "confirmed": "1"})
    assert response.status_code == 403
    assert "did not come from this console" in text_of(response)
    assert Task.objects.filter(pk=task_id).exists()


def test_text_that_runs_backwards_turns_round_nothing_beside_it(operator: Client) -> None:
    """On every page: who paused what must not be readable as something else."""
    covers, reason, by = "\u202equeue", "\u202ereason", "\u202eby"
    ledger.pause(name=covers, reason=reason, by=by)
    html = operator.get(PAUSES).content.decode()
    banner = html.partition('aria-label="Kill switch"')[2].partition("</form>")[0]
    for text in (covers, reason, by):
        assert re.search(f"<bdi>[^<]*{text}</bdi>", banner), text


def _text_asked_for() -> list[str]:
    """The list of every model, by each of its columns of text."""
    return [
        f"{reverse(f'admin:{model._meta.app_label}_{model._meta.model_name}_changelist')}?{field.name}"
        for model in console._registry
        for field in model._meta.fields
        if isinstance(field, CharField | TextField)
    ]


def test_no_list_can_be_asked_for_what_no_database_keeps(operator: Client) -> None:
    lists = _text_asked_for()
    assert f"{reverse('admin:tenants_tenant_changelist')}?slug" in lists
    answers = {asked: operator.get(f"{asked}=a%00b").status_code for asked in lists}
    assert {asked: status for asked, status in answers.items() if status >= 500} == {}
