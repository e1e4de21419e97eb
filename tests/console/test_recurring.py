"""The form of a recurring task answers while one types."""

import pytest
from playwright.sync_api import Page, expect

from scheduling import clock
from scheduling.models import RecurringTask
from tenants.models import Tenant
from tests.admin.kit import RECURRING, ago
from tests.console.browser import follow
from tests.console.looks import in_every_look
from tests.ledger.kit import run, take
from tests.ledger.recurring.kit import fire, recurring

pytestmark = pytest.mark.ledger


@in_every_look
def test_the_preview_follows_as_one_types(operator: Page) -> None:
    operator.goto(f"{RECURRING}add/")
    preview = operator.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("Type a cron expression")
    operator.get_by_label("Cron expression").fill("30 2 * * *")
    expect(preview).to_contain_text("At 02:30 UTC")
    operator.get_by_label("Starts at").fill("2027-03-27T12:00:00Z")
    operator.get_by_label("Time zone").fill("Europe/Berlin")
    expect(preview).to_contain_text("Sun 2027-03-28 03:00 CEST moved")


def test_what_is_wrong_shows_at_its_field_as_one_types_and_goes_again(operator: Page) -> None:
    operator.goto(f"{RECURRING}add/")
    cron, fault = operator.get_by_label("Cron expression"), operator.locator("#fault-cron")
    cron.fill("*/90 * * * *")
    expect(fault).to_contain_text("the step must be from 1 to 59")
    cron.fill("*/30 * * * *")
    expect(fault).to_be_empty()
    expect(operator.get_by_role("region", name="Preview")).to_contain_text("Every 30 minutes")


def test_one_is_created_looked_at_and_run(operator: Page, tenant_a: Tenant) -> None:
    operator.goto(RECURRING)
    follow(operator.get_by_role("link", name="Add recurring task"))
    operator.get_by_label("Tenant").fill("tenant-a")
    operator.get_by_label("Name").fill("nightly")
    operator.get_by_role("combobox", name="Task:").fill("demo.echo")
    operator.get_by_label("Cron expression").fill("0 0 31 2 *")
    follow(operator.get_by_role("button", name="Create"))
    expect(operator.locator("#fault-cron")).to_contain_text("never fires")
    operator.get_by_label("Cron expression").fill("0 3 * * *")
    follow(operator.get_by_role("button", name="Create"))
    expect(operator.get_by_role("heading", name="nightly")).to_be_visible()
    follow(operator.get_by_role("link", name="Run now…"))
    follow(operator.get_by_role("button", name="Run now"))
    expect(operator.get_by_role("region", name="Ticks")).to_contain_text("run now")


@in_every_look
def test_the_list_and_the_page_of_one(viewer: Page, tenant_a: Tenant) -> None:
    recurring(tenant_a, now=ago(minutes=2), timezone="Asia/Kathmandu")
    for minutes in (2, 1, 0):
        fire(ago(minutes=minutes))
        run(take(now=clock.now()), now=clock.now())
    assert RecurringTask.objects.get().last_at
    viewer.goto(RECURRING)
    expect(viewer.get_by_role("img", name="The latest ticks")).to_be_visible()
    follow(viewer.get_by_role("link", name="nightly"))
    expect(viewer.get_by_role("heading", name="Next instants")).to_be_visible()
    expect(viewer.get_by_role("link", name="Pause…")).to_have_count(0)
