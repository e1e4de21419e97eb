"""What a page keeps fresh without being loaded again."""

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from scheduling import ledger
from tenants.models import Tenant
from tests.console.browser import Watch

pytestmark = pytest.mark.ledger


def look_again(page: Page) -> None:
    """What a page does by itself every few seconds, and when somebody turns to it."""
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
