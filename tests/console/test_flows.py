"""What an operator who was paged does: sees who hurts, finds out why, stops the bleeding, sets it right."""

import pytest
from playwright.sync_api import Page, expect

from scheduling import clock, ledger
from scheduling.models import OperatorAction, Pause
from tenants.models import Tenant
from tests.admin.kit import ago, bury, put, worker
from tests.console.browser import follow
from tests.console.looks import in_every_look
from tests.ledger.kit import take

pytestmark = pytest.mark.ledger


@pytest.fixture
def night(tenant_a: Tenant, tenant_b: Tenant) -> None:
    """One tenant holds all the slots, and another one waits; some of it failed."""
    worker(slots=8)
    bury(tenant_a, 3, message="<script>alert('no luck')</script>")
    put(tenant_a, 8)
    put(tenant_a, 2, now=ago(minutes=3), queue="mail", priority=-1)
    take(8, now=ago(seconds=5))
    put(tenant_b, 5, now=ago(minutes=12))
    ledger.pause(queue="reports", reason="They are being moved.", by="bob")


@in_every_look
def test_the_dashboard_names_who_needs_a_look(operator: Page, night: None) -> None:
    operator.goto("/admin/")
    notices = operator.locator(".notices")
    expect(notices).to_contain_text("Ready tasks wait for long: tenant-b, tenant-a.")
    expect(notices).to_contain_text(
        "Has more than its share of what runs while others wait: tenant-a."
    )
    expect(operator.get_by_role("region", name="Kill switch")).to_contain_text("queue reports")
    operator.get_by_text("As a table").first.click()
    expect(operator.get_by_role("columnheader", name="From (UTC)")).to_be_visible()
    follow(operator.get_by_role("link", name="Last day"))
    expect(operator.get_by_role("link", name="Last day")).to_have_attribute("aria-current", "true")
    follow(operator.get_by_role("link", name="tenant-b").first)
    expect(operator.get_by_role("heading", name="tenant-b")).to_be_visible()


@in_every_look
def test_the_page_of_a_tenant_says_who_starves_whom_and_what_failed(
    operator: Page, night: None, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    operator.goto(f"/admin/tenants/tenant/{tenant_b.pk}/change/")
    expect(operator.get_by_text("It waits, with less than its weight is worth")).to_be_visible()
    follow(operator.get_by_role("region", name="Who gets what").get_by_role("link"))
    expect(operator.get_by_text("It has more than its weight is worth")).to_be_visible()
    expect(operator.get_by_role("region", name="Lanes")).to_contain_text("mail")
    failures = operator.get_by_role("region", name="Recent failures")
    expect(failures.get_by_role("rowheader", name="ValueError")).to_be_visible()
    follow(failures.get_by_role("link"))
    expect(operator.get_by_role("heading", name="demo.echo")).to_be_visible()


def test_tabs_buttons_and_names_of_rows_are_not_underlined_whatever_the_stock_admin_does(
    operator: Page, night: None
) -> None:
    operator.goto("/admin/")
    for plain in (".pages a", "a.button", ".choice a", ".figures tbody th a"):
        expect(operator.locator(plain).first).to_have_css("text-decoration-line", "none")
    expect(operator.locator(".notices a").first).to_have_css("text-decoration-line", "underline")


def test_charts_beside_each_other_stand_on_one_line(viewer: Page, night: None) -> None:
    """Also when the caption of one of them takes two."""
    viewer.set_viewport_size({"width": 1285, "height": 800})
    viewer.goto("/admin/")
    peak = viewer.locator(".chart .peak").last
    peak.evaluate("peak => { peak.textContent = 'peak ' + 'very '.repeat(12) + 'high' }")
    plots = viewer.locator(".chart .plot")
    grounds = plots.evaluate_all("all => all.map((one) => one.getBoundingClientRect().bottom)")
    assert len(grounds) == 3
    assert len(set(grounds)) == 1


def test_groups_of_dead_letters_are_as_wide_as_the_list_below(viewer: Page, night: None) -> None:
    viewer.goto("/admin/scheduling/deadletter/")
    widths = [
        viewer.locator(part).evaluate("one => one.getBoundingClientRect().width")
        for part in (".groups", "#changelist")
    ]
    assert widths[0] == pytest.approx(widths[1], abs=2)


def test_limits_are_changed_with_effect_at_once(owner: Page, night: None, tenant_a: Tenant) -> None:
    owner.goto(f"/admin/tenants/tenant/{tenant_a.pk}/change/")
    owner.get_by_label("Max in flight").fill("30")
    follow(owner.get_by_role("button", name="Save", exact=True))
    expect(owner.get_by_text("as they stand here from now on")).to_be_visible()
    expect(owner.locator(".tiles")).to_contain_text("of 30")
    tenant_a.refresh_from_db()
    assert tenant_a.max_in_flight == 30
    assert OperatorAction.objects.get(verb="change").note == "Max in flight: 100 → 30"


def test_who_may_only_look_is_offered_no_change(
    viewer: Page, night: None, tenant_a: Tenant
) -> None:
    viewer.goto(f"/admin/tenants/tenant/{tenant_a.pk}/change/")
    expect(viewer.get_by_role("heading", name="Who gets what")).to_be_visible()
    expect(viewer.get_by_role("button", name="Save")).to_have_count(0)
    expect(viewer.get_by_role("link", name="Pause…")).to_have_count(0)
    expect(viewer.get_by_role("button", name="Resume")).to_have_count(0)


@in_every_look
def test_a_tenant_is_paused_and_resumed_and_both_are_history(
    operator: Page, tenant_a: Tenant
) -> None:
    operator.goto(f"/admin/tenants/tenant/{tenant_a.pk}/change/")
    follow(operator.get_by_role("link", name="Pause…"))
    expect(operator.get_by_label("Tenant")).to_have_value("tenant-a")
    operator.get_by_label("Reason").fill("They flood us.")
    operator.get_by_label("For").fill("2h")
    follow(operator.get_by_role("button", name="Pause", exact=True))
    expect(operator.locator(".messagelist")).to_contain_text(
        "Nothing new starts; 0 tasks in flight."
    )
    assert Pause.objects.in_force(clock.now()).get().tenant == tenant_a
    follow(operator.get_by_role("button", name="Resume tenant tenant-a"))
    expect(operator.locator(".messagelist")).to_contain_text("Resumed")
    assert not Pause.objects.in_force(clock.now()).exists()
    follow(operator.get_by_role("link", name="Kill switch"))
    history = operator.get_by_role("region", name="History")
    expect(history).to_contain_text("They flood us.")
    expect(history.get_by_role("row")).to_have_count(3)


def test_the_console_is_walked_by_keyboard(operator: Page, night: None) -> None:
    operator.goto("/admin/")
    operator.keyboard.press("Tab")
    expect(operator.get_by_text("Skip to main content")).to_be_focused()
    for _ in range(40):
        operator.keyboard.press("Tab")
        if operator.evaluate("document.activeElement.textContent") == "Resume":
            break
    operator.keyboard.press("Enter")
    expect(operator.locator(".messagelist")).to_contain_text("Resumed")
