"""What a page keeps fresh without being loaded again."""

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, Route, expect

from scheduling import ledger
from tenants.models import Tenant
from tests.console.browser import Watch

pytestmark = pytest.mark.ledger


def look_again(page: Page) -> None:
    """What a page, once it is there, does by itself every few seconds, and when somebody turns to it."""
    page.wait_for_load_state()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_pause_appears_on_a_page_that_is_open(viewer: Page, tenant_a: Tenant) -> None:
    viewer.goto("/admin/scheduling/task/")
    ledger.pause(tenant=tenant_a, reason="They flood us.", by="bob")
    look_again(viewer)
    banner = viewer.get_by_role("region", name="Kill switch")
    expect(banner).to_contain_text("They flood us.")
    ledger.resume(tenant=tenant_a, by="bob")
    look_again(viewer)
    expect(banner).to_have_count(0)


def test_figures_are_fresh_on_a_dashboard_that_is_open(viewer: Page) -> None:
    viewer.goto("/admin/")
    Tenant.objects.create(slug="newly-come")
    look_again(viewer)
    expect(viewer.get_by_role("link", name="newly-come")).to_be_visible()


NOTE_WHAT_IS_LOADED = """() => {
    window.loaded = new Promise((done) =>
        document.addEventListener("htmx:afterOnLoad", () => done(), { once: true }));
}"""


def test_a_click_is_not_lost_when_fresh_content_comes_in_the_midst_of_it(
    operator: Page, tenant_a: Tenant
) -> None:
    ledger.pause(tenant=tenant_a, reason="They flood us.", by="bob")
    operator.goto("/admin/scheduling/task/")
    operator.evaluate(NOTE_WHAT_IS_LOADED)
    held: list[Route] = []
    operator.route("**/live/kill-switch/", lambda route: held.append(route))
    with operator.expect_request("**/live/kill-switch/"):
        look_again(operator)
    operator.get_by_role("button", name="Resume").hover()
    operator.mouse.down()
    held.pop().continue_()
    operator.evaluate("loaded")
    with operator.expect_navigation():
        operator.mouse.up()
    operator.unroute_all()
    expect(operator.locator(".messagelist")).to_contain_text("Resumed")


def test_who_is_signed_out_meanwhile_is_sent_to_the_door(viewer: Page) -> None:
    viewer.goto("/admin/scheduling/task/")
    Session.objects.all().delete()
    look_again(viewer)
    expect(viewer.get_by_label("Username")).to_be_visible()


def test_a_page_that_hears_nothing_any_more_says_so(viewer: Page, watch: Watch) -> None:
    for told in ("ERR_INTERNET_DISCONNECTED", "htmx:sendError", "htmx:afterRequest"):
        watch.expect(told)
    viewer.goto("/admin/")
    viewer.context.set_offline(True)
    look_again(viewer)
    expect(viewer.locator("#live-state")).to_contain_text("Not refreshed for")
    viewer.context.set_offline(False)
    look_again(viewer)
    expect(viewer.locator("#live-state")).to_be_empty()
