"""`@recurring`: what code declares comes into the ledger once, and what an operator changed there stays changed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import DjangoAssertNumQueries, Settings

from scheduling import ledger, recurring
from scheduling.compat import InvalidDeclaration, task
from scheduling.declaring import registry
from scheduling.models import RecurringTask
from tenants.models import Tenant
from tests.races.kit import many_at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


@task(name="reports.daily", queue_name="mail", priority=3, max_attempts=5)
def daily(day: int = 0) -> None: ...


@task(name="reports.weekly", tenant="tenant-b", deadline=timedelta(hours=1))
def weekly() -> None: ...


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch: pytest.MonkeyPatch, tenant_a: Tenant, tenant_b: Tenant) -> None:
    monkeypatch.setattr(recurring, "_declared", {})


def declare(cron: str | None = "*/5 * * * *", *, of: Any = daily, **options: Any) -> None:
    """As when a module is imported, in the place of what it declared before."""
    recurring._declared.clear()
    recurring.recurring(cron, **{"tenant": "tenant-a", **options})(of)


def the_row(**which: Any) -> RecurringTask:
    return RecurringTask.objects.get(**which)


def test_a_declaration_comes_into_the_ledger_once(tenant_a: Tenant) -> None:
    declare(timezone="Europe/Berlin", payload={"day": 1}, catchup_window=timedelta(hours=2))
    for _ in range(2):
        recurring.sync()
    row = the_row()
    assert (row.tenant, row.name, row.task_name) == (tenant_a, "reports.daily", "reports.daily")
    assert (row.queue, row.priority, row.max_attempts) == ("mail", 3, 5)
    assert (row.cron, row.timezone, row.payload) == ("*/5 * * * *", "Europe/Berlin", {"day": 1})
    assert row.catchup_window == timedelta(hours=2)
    assert (row.declared_in_code, row.version) == (True, 1)


def test_many_starts_at_once_make_one() -> None:
    declare()
    many_at_once(4, recurring.sync)
    assert RecurringTask.objects.count() == 1


def test_each_tenant_that_is_named_has_its_own() -> None:
    declare(tenant=("tenant-a", "tenant-b"))
    recurring.sync()
    slugs = RecurringTask.objects.values_list("tenant__slug", flat=True)
    assert sorted(slugs) == ["tenant-a", "tenant-b"]


def test_without_a_name_it_is_the_tenant_of_the_task_or_the_default(
    settings: Settings,
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"DEFAULT_TENANT": "tenant-a"}
    declare(of=weekly, tenant=())
    recurring.sync()
    assert the_row().tenant.slug == "tenant-b"
    assert the_row().deadline_seconds == 3600
    declare(tenant=())
    recurring.sync()
    assert the_row(name="reports.daily").tenant.slug == "tenant-a"


@pytest.mark.parametrize("tenant", ["nobody", ()])
def test_a_tenant_that_is_not_there_is_logged_and_made_good_later(
    tenant: Any, caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    declare(tenant=tenant)
    recurring.sync()
    assert not RecurringTask.objects.exists()
    assert "tenant" in caplog.text
    settings.RENTROLL = settings.RENTROLL | {
        "DEFAULT_TENANT": Tenant.objects.create(slug="nobody").slug
    }
    recurring.sync()
    assert the_row().tenant.slug == "nobody"


def test_an_operators_edit_stays_until_code_says_something_else_about_that_field() -> None:
    declare(payload={"day": 1})
    recurring.sync()
    ledger.edit_recurring(the_row().pk, {"cron": "0 * * * *", "payload": {"day": 2}})
    recurring.sync()
    assert (the_row().cron, the_row().payload) == ("0 * * * *", {"day": 2})

    declare(payload={"day": 3})
    recurring.sync()
    assert (the_row().cron, the_row().payload) == ("0 * * * *", {"day": 3})

    declare("*/10 * * * *", payload={"day": 3})
    recurring.sync()
    assert the_row().cron == "*/10 * * * *"


def test_an_interval_of_an_operator_gives_way_to_a_new_rule_in_code_as_a_whole() -> None:
    declare()
    recurring.sync()
    ledger.edit_recurring(the_row().pk, {"every_seconds": 60})
    declare("*/10 * * * *")
    recurring.sync()
    assert (the_row().cron, the_row().every_seconds) == ("*/10 * * * *", None)


def test_an_anchor_of_an_operator_gives_way_to_a_new_interval_in_code() -> None:
    anchor = datetime(2026, 1, 1, tzinfo=UTC)
    declare(None, every=timedelta(minutes=5), anchor=anchor)
    recurring.sync()
    ledger.edit_recurring(the_row().pk, {"anchor": anchor + timedelta(seconds=90)})
    declare(None, every=timedelta(minutes=10), anchor=anchor)
    recurring.sync()
    assert (the_row().every_seconds, the_row().anchor) == (600, anchor)


def test_code_that_does_not_go_with_an_operators_edit_is_logged_and_the_start_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    until, from_then_on = datetime(2030, 1, 1, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC)
    declare()
    recurring.sync()
    ledger.edit_recurring(the_row().pk, {"ends_at": until})
    declare(starts_at=from_then_on)
    recurring.sync()
    assert (the_row().starts_at, the_row().ends_at) == (None, until)
    assert "reports.daily of tenant-a stays as it is" in caplog.text
    ledger.edit_recurring(the_row().pk, {"ends_at": None})
    recurring.sync()
    assert the_row().starts_at == from_then_on


def test_a_pause_stays_whatever_code_says() -> None:
    declare()
    recurring.sync()
    ledger.pause_recurring(the_row().pk, True, reason="too loud")
    declare("*/10 * * * *")
    recurring.sync()
    assert the_row().paused


def test_what_is_declared_no_longer_is_disabled_and_comes_back_with_its_declaration() -> None:
    declare()
    recurring.sync()
    recurring._declared.clear()
    recurring.sync()
    gone = the_row()
    assert (gone.declared_in_code, gone.fires_at) == (False, None)
    assert "does not declare" in gone.disabled_reason

    declare()
    recurring.sync()
    back = the_row()
    assert (back.declared_in_code, back.disabled_reason) == (True, "")
    assert back.fires_at is not None


def test_older_code_that_starts_last_disables_nothing_for_long(tenant_a: Tenant) -> None:
    declare()
    recurring.sync()
    ours = dict(recurring._declared)
    recurring._declared.clear()
    recurring.sync()
    recurring.keep()
    assert not the_row().declared_in_code

    recurring._declared.update(ours)
    recurring.keep()
    back = the_row()
    assert (back.declared_in_code, back.disabled_reason) == (True, "")
    assert back.fires_at is not None
    recurring.keep()
    assert the_row().version == back.version


def test_one_that_an_operator_has_made_their_own_since_stays_theirs() -> None:
    declare()
    recurring.sync()
    ours = dict(recurring._declared)
    recurring._declared.clear()
    recurring.sync()
    ledger.edit_recurring(the_row().pk, {"cron": "0 7 * * *"})
    recurring._declared.update(ours)
    recurring.keep()
    assert (the_row().cron, the_row().declared_in_code) == ("0 7 * * *", False)


def test_one_that_cannot_be_enabled_again_is_logged_and_stops_no_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    declare(starts_at=datetime(2030, 1, 1, tzinfo=UTC))
    recurring.sync()
    ledger.edit_recurring(the_row().pk, {"ends_at": datetime(2031, 1, 1, tzinfo=UTC)})
    recurring._declared.clear()
    recurring.sync()
    declare(starts_at=datetime(2032, 1, 1, tzinfo=UTC))
    recurring.keep()
    assert not the_row().declared_in_code
    assert "stays disabled: ends_at" in caplog.text


def test_a_look_costs_one_query_and_none_without_declarations(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    declare()
    recurring.sync()
    with django_assert_num_queries(1):
        recurring.keep()
    recurring._declared.clear()
    with django_assert_num_queries(0):
        recurring.keep()


def test_nothing_is_taken_for_gone_while_some_code_cannot_be_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    declare()
    recurring.sync()
    recurring._declared.clear()
    monkeypatch.setattr(registry, "failures", lambda: {"shop.tasks": "SyntaxError"})
    recurring.sync()
    assert the_row().declared_in_code


def test_a_recurring_task_of_somebody_else_under_that_name_is_left_alone(
    tenant_a: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    ledger.create_recurring(
        ledger.NewRecurring(
            tenant_id=tenant_a.pk, name="reports.daily", task_name="x", cron="0 0 * * *"
        )
    )
    declare()
    recurring.sync()
    assert (the_row().task_name, the_row().declared_in_code) == ("x", False)
    assert "left alone" in caplog.text


def test_one_for_which_its_tenant_has_no_place_is_logged_and_the_start_goes_on(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"TENANT_MAX_RECURRING": 1}
    declare()
    recurring.recurring("0 3 * * *", tenant="tenant-a", name="second")(daily)
    recurring.sync()
    assert the_row().name == "reports.daily"
    assert "second does not recur" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cron": "*/90 * * * *"}, "cron"),
        ({"timezone": "Berlin"}, "timezone"),
        ({"payload": {"hour": 1}}, "payload.hour"),
        ({"payload": {"day": "one"}}, "payload.day"),
        ({"overlap": "never"}, "overlap"),
        ({"every": timedelta(minutes=5)}, "every_seconds"),
        ({"every": timedelta(milliseconds=1500), "cron": None}, "every_seconds"),
        ({"name": "no name"}, "name"),
    ],
    ids=str,
)
def test_what_cannot_be_followed_is_refused_where_it_is_declared(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidDeclaration, match=words):
        declare(**arguments)


def test_it_belongs_above_the_task() -> None:
    with pytest.raises(InvalidDeclaration, match="above @task"):
        recurring.recurring("* * * * *")(test_it_belongs_above_the_task)


def test_one_task_may_recur_under_several_names_and_not_under_one() -> None:
    declare()
    recurring.recurring("0 * * * *", tenant="tenant-a", name="hourly")(daily)
    with pytest.raises(ImproperlyConfigured, match="hourly"):
        recurring.recurring("1 * * * *", tenant="tenant-a", name="hourly")(daily)
    recurring.sync()
    assert sorted(RecurringTask.objects.values_list("name", flat=True)) == [
        "hourly",
        "reports.daily",
    ]
