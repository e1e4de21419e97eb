"""What an operator does about tasks, dead letters and tokens, with a browser."""

import csv
import json
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from scheduling import clock, ledger, sweeps
from scheduling.ledger.values import Succeed
from scheduling.models import Lease, Schedule, Sweep, Task
from tenants.models import ApiToken, Tenant
from tests.admin.kit import DEAD_LETTERS, PAUSES, RECURRING, TASKS, bury, page, put
from tests.console.browser import barriers, follow, sideways
from tests.console.looks import in_both_themes, in_every_look
from tests.console.test_live import look_again
from tests.ledger.kit import say, take
from tests.ledger.recurring.kit import recurring

pytestmark = pytest.mark.ledger


def a_worker_steps(after: timedelta = timedelta(0)) -> None:
    """What workers do about a sweep, whether anybody looks or not: so long after its last step."""
    (sweep,) = Sweep.objects.under_way()
    sweeps.step(sweep.pk, now=sweep.stepped_at + after)


def inspect(page: Page) -> None:
    """What is looked at along the way has to be in order as well."""
    assert not (found := barriers(page)), "\n\n".join(found)
    assert not sideways(page), f"{page.url} is {sideways(page)} pixels too wide"


@in_every_look
def test_a_task_says_why_it_waits_and_is_run_now(operator: Page, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, name="invoices.send", due_at=clock.now() + timedelta(hours=3))
    operator.goto(TASKS)
    inspect(operator)
    operator.get_by_label("Search", exact=True).fill("invoices.send")
    follow(operator.get_by_role("button", name="Search"))
    follow(operator.get_by_role("link", name="invoices.send"))
    expect(operator.get_by_text("It is not due until")).to_be_visible()
    inspect(operator)
    follow(operator.get_by_role("link", name="Reschedule…"))
    operator.get_by_label("Priority").fill("7")
    inspect(operator)
    follow(operator.get_by_role("button", name="Change"))
    expect(operator.locator(".messagelist")).to_contain_text("1 task rescheduled.")
    follow(operator.get_by_role("button", name="Run now…"))
    operator.get_by_label("Reason").fill("the customer waits")
    inspect(operator)
    follow(operator.get_by_role("button", name="Run now"))
    expect(operator.get_by_text("the customer waits")).to_be_visible()
    assert Schedule.objects.get().due_at <= clock.now()
    assert Task.objects.get(pk=task_id).priority == 7


@in_both_themes
def test_the_page_of_a_running_task_follows_it(operator: Page, tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    claims = take(1)
    operator.goto(page(task_id))
    Lease.objects.update(progress={"fraction": 0.5, "done": 1, "total": 2, "note": "pages"})
    look_again(operator)
    expect(operator.get_by_text("1 of 2 (50%)")).to_be_visible()
    say(claims, Succeed('"a result"'))
    look_again(operator)
    expect(operator.get_by_role("heading", name="Result")).to_be_visible()


@in_every_look
def test_dead_letters_are_put_back_and_say_where_they_come_from(
    operator: Page, tenant_a: Tenant
) -> None:
    """In one screen and one action, which says what it will do to what."""
    (wanted,) = bury(tenant_a, name="invoices.send")
    bury(tenant_a, 3, message="something else")
    operator.goto(DEAD_LETTERS)
    inspect(operator)
    group = operator.locator(".groups tr", has_text="invoices.send")
    follow(group.get_by_role("link", name="Redrive…"))
    expect(operator.get_by_text("1 dead letter matches")).to_be_visible()
    inspect(operator)
    operator.get_by_label("Reason").fill("the gateway is back")
    follow(operator.get_by_role("button", name="Redrive 1 dead letter"))
    expect(operator.get_by_text("0 of 1")).to_be_visible()
    a_worker_steps()
    look_again(operator)
    expect(operator.get_by_text("1 dead letter redriven.")).to_be_visible()
    expect(operator.get_by_text("finished")).to_be_visible()
    inspect(operator)
    assert Task.objects.dead().count() == 3
    operator.goto(page(wanted))
    expect(operator.get_by_text("Redriven: generation 1")).to_be_visible()


@in_both_themes
def test_a_slow_sweep_is_left_found_again_and_cancelled(operator: Page, tenant_a: Tenant) -> None:
    bury(tenant_a, 30)
    operator.goto(f"{DEAD_LETTERS}redrive-all/")
    operator.get_by_label("At most per second").fill("2")
    follow(operator.get_by_role("button", name="Redrive 30 dead letters"))
    a_worker_steps(after=timedelta(seconds=1))
    look_again(operator)
    expect(operator.get_by_role("progressbar")).to_have_js_property("value", 2)
    inspect(operator)
    operator.goto(DEAD_LETTERS)
    inspect(operator)
    follow(operator.get_by_role("link", name="Redrive all dead letters"))
    follow(operator.get_by_role("button", name="Cancel"))
    expect(operator.get_by_text("Cancelled: the rest is as it was.")).to_be_visible()
    assert Sweep.objects.get().state == Sweep.State.CANCELLED
    assert Task.objects.dead().count() == 28


@in_both_themes
def test_dead_letters_are_taken_home_as_files_that_run_nothing(
    viewer: Page, tenant_a: Tenant, tmp_path: Path
) -> None:
    bury(tenant_a, name="=1+1", message="<script>alert(1)</script>")
    bury(tenant_a, name="other")
    viewer.goto(f"{DEAD_LETTERS}?name=%3D1%2B1")
    (row,) = csv.DictReader(downloaded(viewer, "CSV", tmp_path).splitlines())
    assert row["name"] == "'=1+1"
    as_json = downloaded(viewer, "JSON", tmp_path)
    assert "<" not in as_json
    (letter,) = json.loads(as_json)
    assert (letter["name"], letter["error_message"]) == ("=1+1", "<script>alert(1)</script>")


def downloaded(page: Page, link: str, folder: Path) -> str:
    """What the file says that a link gives. Nothing of it is opened as a page."""
    with page.expect_download() as download:
        page.get_by_role("link", name=link, exact=True).click()
    file = folder / link
    download.value.save_as(file)
    return file.read_text()


@in_both_themes
def test_who_may_only_look_is_offered_nothing_else(viewer: Page, tenant_a: Tenant) -> None:
    """On no page there is: but for signing out, searching, filtering and the theme there is nothing to press."""
    (task_id,) = bury(tenant_a)
    (waiting,) = put(tenant_a, due_at=clock.now() + timedelta(hours=1))
    ledger.pause(queue="mail", reason="their outage", by="ana")
    recurs = recurring(tenant_a, now=clock.now())
    ones = (page(task_id), page(waiting), f"{RECURRING}{recurs.pk}/change/")
    tenants = (f"/admin/tenants/tenant/{tenant_a.pk}/change/", "/admin/tenants/tenant/")
    for address in ("/admin/", TASKS, DEAD_LETTERS, PAUSES, RECURRING, *ones, *tenants):
        viewer.goto(address)
        # Django 6.1 calls what sorts a column a button.
        words = (
            "all => all.filter(one => !one.closest('th')).map(one => one.innerText || one.value)"
        )
        buttons = viewer.get_by_role("button").evaluate_all(words)
        harmless = ("Log out", "Filter", "Search", "Toggle theme", "Close")  # that of Django 6.1
        assert not [text for text in buttons if not text.strip().startswith(harmless)], address
        assert not [text for text in viewer.get_by_role("link").all_inner_texts() if "…" in text]


@in_every_look
def test_a_token_is_shown_once_and_revoked(owner: Page, tenant_a: Tenant) -> None:
    owner.goto("/admin/tenants/apitoken/add/")
    owner.get_by_label("Tenant").fill("tenant-a")
    owner.get_by_label("Name").fill("billing")
    inspect(owner)
    follow(owner.get_by_role("button", name="Issue"))
    secret = owner.locator("pre.secret").inner_text()
    inspect(owner)
    follow(owner.get_by_role("link", name="All tokens"))
    inspect(owner)
    assert secret not in owner.content()
    follow(owner.get_by_role("link", name=ApiToken.objects.get().prefix))
    inspect(owner)
    follow(owner.get_by_role("button", name="Revoke"))
    expect(owner.get_by_text("1 revoked")).to_be_visible()
    assert ApiToken.objects.get().revoked_at is not None
    follow(owner.get_by_role("link", name="Audit"))
    expect(owner.get_by_role("link", name="api token").first).to_be_visible()
