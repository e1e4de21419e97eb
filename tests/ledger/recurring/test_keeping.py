"""Creating, editing, pausing and deleting; and that nothing that has come gets lost over it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from scheduling import ledger
from scheduling.errors import (
    Changed,
    DeclaredInCode,
    InvalidTask,
    NameTaken,
    TooManyRecurring,
    UnknownRecurring,
)
from scheduling.ids import uuid7
from scheduling.models import RecurringTask, Task, Tick
from tenants.models import Tenant
from tests.ledger.kit import START, at
from tests.ledger.recurring.kit import (
    again,
    fire,
    outcomes,
    reasons,
    recurring,
    start_one,
    told,
    work_off,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_a_name_is_taken_once_in_a_tenant(tenant_a: Tenant, tenant_b: Tenant) -> None:
    recurring(tenant_a)
    recurring(tenant_b)
    with pytest.raises(NameTaken, match="nightly"):
        recurring(tenant_a)
    other = recurring(tenant_a, name="other")
    with pytest.raises(NameTaken):
        ledger.edit_recurring(other.pk, {"name": "nightly"}, now=START)


@pytest.mark.parametrize(
    ("fields", "at_fault"),
    [
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"cron": "* * * * *", "every_seconds": 60}, "cron"),
        ({"every_seconds": 0}, "every_seconds"),
        ({"every_seconds": "60"}, "every_seconds"),
        ({"timezone": "Berlin"}, "timezone"),
        ({"timezone": None}, "timezone"),
        ({"starts_at": "2027-01-01"}, "starts_at"),
        ({"starts_at": START, "ends_at": START}, "ends_at"),
        ({"overlap": "sometimes"}, "overlap"),
        ({"catchup": "some"}, "catchup"),
        ({"catchup_window_seconds": -1}, "catchup_window_seconds"),
        ({"jitter_seconds": True}, "jitter_seconds"),
        ({"pause_after_failures": 0}, "pause_after_failures"),
        ({"priority": 101}, "priority"),
        ({"payload": [1]}, "payload"),
        ({"payload": {"a": "\0"}}, "payload.a"),
        ({"task_name": "no name"}, "task_name"),
        ({"deadline_seconds": float("nan")}, "deadline_seconds"),
    ],
    ids=str,
)
def test_what_cannot_be_kept_is_refused_by_its_field(
    tenant_a: Tenant, fields: Mapping[str, Any], at_fault: str
) -> None:
    with pytest.raises(InvalidTask) as refused:
        recurring(tenant_a, **fields)
    assert list(refused.value.errors) == [at_fault]
    row = recurring(tenant_a)
    with pytest.raises(InvalidTask):
        ledger.edit_recurring(row.pk, fields, now=START)
    assert again(row).version == 1


def test_a_tenant_that_does_not_exist_has_none() -> None:
    with pytest.raises(InvalidTask, match="tenant"):
        ledger.create_recurring(
            ledger.NewRecurring(tenant_id=404, name="x", task_name="x", cron="* * * * *")
        )


def test_a_tenant_has_so_many_and_no_more(
    tenant_a: Tenant, tenant_b: Tenant, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"TENANT_MAX_RECURRING": 2}
    first = recurring(tenant_a)
    recurring(tenant_a, name="second")
    recurring(tenant_b)
    with pytest.raises(TooManyRecurring, match="may have 2"):
        recurring(tenant_a, name="third")
    ledger.edit_recurring(first.pk, {"priority": 1}, now=START)
    ledger.delete_recurring(first.pk)
    recurring(tenant_a, name="third")
    settings.RENTROLL = settings.RENTROLL | {"TENANT_MAX_RECURRING": 0}
    recurring(tenant_a, name="fourth")


def test_an_edit_of_another_version_changes_nothing(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    edited = ledger.edit_recurring(row.pk, {"priority": 5}, version=1, now=START)
    assert edited.version == 2
    for verb in (
        lambda: ledger.edit_recurring(row.pk, {"priority": 6}, version=1, now=START),
        lambda: ledger.delete_recurring(row.pk, version=1),
        lambda: ledger.pause_recurring(row.pk, True, version=1, now=START),
    ):
        with pytest.raises(Changed):
            verb()
    assert (again(row).priority, again(row).paused) == (5, False)


def test_what_is_not_there_is_unknown_to_every_verb() -> None:
    nobody = uuid7()
    for verb in (
        lambda: ledger.edit_recurring(nobody, {}),
        lambda: ledger.delete_recurring(nobody),
        lambda: ledger.pause_recurring(nobody, True),
        lambda: ledger.run_now(nobody),
        lambda: ledger.backfill(nobody, START, START),
    ):
        with pytest.raises(UnknownRecurring):
            verb()


def test_an_edit_of_something_else_leaves_the_next_tick_where_it_is(tenant_a: Tenant) -> None:
    """Scenario 40: at :59, and at half past the instant before anybody has fired it."""
    row = recurring(tenant_a)
    ledger.edit_recurring(row.pk, {"payload": {"a": 1}}, now=at(59))
    assert again(row).next_at == at(60)
    ledger.edit_recurring(row.pk, {"payload": {"a": 2}}, now=at(60.5))
    assert told(row) == [("12:01", "fired")]
    assert Task.objects.get().kwargs == {"a": 1}  # as it was when the tick came
    assert again(row).next_at == at(120)


def test_a_new_rule_holds_from_the_edit_on_and_what_came_before_is_kept(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, cron="*/5 * * * *")
    ledger.edit_recurring(row.pk, {"cron": "*/2 * * * *"}, now=at(301))
    assert told(row) == [("12:05", "fired")]
    assert again(row).next_at == at(360)


def test_a_clock_that_was_set_back_before_an_edit_repeats_no_tick(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow")
    fire(at(600))
    ledger.edit_recurring(row.pk, {"cron": "*/2 * * * *"}, now=at(0))
    assert again(row).next_at == at(720)


def test_a_tick_that_waits_for_its_jitter_is_not_lost_over_a_new_rule(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, jitter_seconds=59)
    assert row.fires_at is not None
    before = at(60) + (row.fires_at - at(60)) / 2
    ledger.edit_recurring(row.pk, {"payload": {"a": 1}}, now=before)
    assert told(row) == []
    ledger.edit_recurring(row.pk, {"cron": "0 * * * *"}, now=before)
    assert told(row) == [("12:01", "fired")]


def test_an_interval_takes_the_place_of_an_expression_and_the_other_way_round(
    tenant_a: Tenant,
) -> None:
    row = recurring(tenant_a)
    edited = ledger.edit_recurring(row.pk, {"every_seconds": 7200}, now=START)
    assert (edited.cron, edited.every_seconds, edited.next_at) == ("", 7200, at(7200))
    edited = ledger.edit_recurring(row.pk, {"cron": "0 * * * *"}, now=START)
    assert (edited.cron, edited.every_seconds, edited.anchor) == ("0 * * * *", None, None)


def test_an_edit_after_a_long_silence_accounts_for_all_of_it(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, catchup="none")
    edited = ledger.edit_recurring(row.pk, {"cron": "0 * * * *"}, now=at(60 * 2500 + 30))
    assert outcomes(row) == {"skipped_catchup": 2499, "fired": 1}
    assert edited.next_at == at(60 * 2520)


def test_an_edit_of_a_paused_one_tells_what_was_missed_and_fires_nothing(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    ledger.pause_recurring(row.pk, True, reason="holiday", now=START)
    edited = ledger.edit_recurring(row.pk, {"cron": "0 * * * *"}, now=at(150))
    assert told(row) == [("12:01", "missed"), ("12:02", "missed")]
    assert set(reasons(row)) == {"It was paused: holiday"}
    assert (edited.paused, edited.fires_at, edited.next_at) == (True, None, at(3600))
    ledger.pause_recurring(row.pk, False, now=at(200))
    assert fire(at(3600)) == 1


def test_a_row_that_was_disabled_is_mended_by_an_edit(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    RecurringTask.objects.filter(pk=row.pk).update(timezone="Mars/Base")
    fire(at(60))
    assert again(row).disabled_reason
    ledger.edit_recurring(row.pk, {"timezone": "Europe/Berlin"}, now=at(150))
    assert not again(row).disabled_reason
    assert fire(at(180)) == 1


def test_a_row_that_was_disabled_for_its_payload_loses_no_tick_over_an_edit_of_its_rule(
    tenant_a: Tenant,
) -> None:
    row = recurring(tenant_a)
    RecurringTask.objects.filter(pk=row.pk).update(payload=[])
    ledger.edit_recurring(row.pk, {"cron": "0 * * * *", "payload": {}}, now=at(150))
    assert told(row) == [("12:01", "missed"), ("12:02", "missed")]
    assert "payload" in reasons(row)[0]
    assert fire(at(3600)) == 1


def test_what_cannot_be_read_of_a_row_stays_as_it_is_when_it_is_paused_and_resumed(
    tenant_a: Tenant,
) -> None:
    row = recurring(tenant_a)
    too_deep = "[" * 65 + "]" * 65
    with connection.cursor() as cursor:
        cursor.execute("UPDATE scheduling_recurringtask SET payload = %s", [too_deep])
    assert again(row).payload is None
    ledger.pause_recurring(row.pk, True, now=at(1))
    ledger.pause_recurring(row.pk, False, now=at(2))
    RecurringTask.objects.update(declared_in_code=True)
    ledger.retire_recurring(row.pk, now=at(3))
    with connection.cursor() as cursor:
        cursor.execute("SELECT CAST(payload AS text) FROM scheduling_recurringtask")
        assert cursor.fetchall() == [(too_deep,)]


def test_resuming_what_cannot_be_followed_leaves_it_as_it_is(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    RecurringTask.objects.filter(pk=row.pk).update(timezone="Mars/Base")
    fire(at(60))
    with pytest.raises(ValueError, match="Mars/Base"):
        ledger.pause_recurring(row.pk, False, now=at(61))
    assert again(row).disabled_reason


def test_what_waited_when_it_was_paused_is_missed(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="buffer_one")
    fire(at(60))
    start_one(at(60))
    fire(at(120))
    ledger.pause_recurring(row.pk, True, now=at(121))
    assert told(row)[-1] == ("12:02", "missed")


def test_pausing_again_takes_the_new_reason(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    ledger.pause_recurring(row.pk, True, reason="one", now=at(1))
    ledger.pause_recurring(row.pk, True, reason="two", now=at(2))
    assert again(row).paused_reason == "two"


def test_one_that_is_created_paused_fires_once_it_is_resumed(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, paused=True)
    assert fire(at(60)) == 0
    ledger.pause_recurring(row.pk, False, now=at(61))
    assert fire(at(120)) == 1
    assert told(row) == [("12:01", "missed"), ("12:02", "fired")]


def test_deleting_takes_the_ticks_and_leaves_the_tasks(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow")
    fire(at(180))
    ledger.delete_recurring(row.pk)
    assert not RecurringTask.objects.exists()
    assert not Tick.objects.exists()
    assert Task.objects.count() == work_off(at(181)) > 0


def test_what_code_declares_is_not_deleted(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    RecurringTask.objects.update(declared_in_code=True)
    with pytest.raises(DeclaredInCode, match="nightly"):
        ledger.delete_recurring(row.pk)


def test_who_comes_late_to_retire_it_leaves_alone_what_somebody_made_their_own(
    tenant_a: Tenant,
) -> None:
    """Two processes start, and both have found that code declares it no longer."""
    row = recurring(tenant_a)
    RecurringTask.objects.update(declared_in_code=True)
    ledger.retire_recurring(row.pk, now=at(1))
    assert again(row).disabled_reason
    ledger.edit_recurring(row.pk, {"priority": 1}, now=at(2))
    ledger.retire_recurring(row.pk, now=at(3))
    assert not again(row).disabled_reason
    assert fire(at(60)) == 1


def test_ticks_are_kept_for_their_time_and_no_longer(tenant_a: Tenant, tenant_b: Tenant) -> None:
    row, other = recurring(tenant_a), recurring(tenant_b)
    for minute in (1, 2, 3):
        fire(at(60 * minute))
        work_off(at(60 * minute))
    fire(at(240))
    keep = timedelta(seconds=60)
    assert ledger.prune_ticks(tenant_a, keep=keep, limit=1, now=at(400)) == 1
    assert ledger.prune_ticks(tenant_a, keep=keep, now=at(400)) == 2
    assert ledger.prune_ticks(tenant_a, keep=keep, now=at(400)) == 0
    assert told(row) == [("12:04", "fired")]  # its task is not over
    assert len(told(other)) == 4
    tenant_b.retention = timedelta(days=1)
    assert ledger.prune_ticks(tenant_b, keep=keep, now=at(400)) == 0


def test_a_tick_outlives_its_task(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    fire(at(60))
    work_off(at(60))
    ledger.prune(tenant_a, keep=timedelta(0), now=at(90))
    fire(at(120))
    assert told(row) == [("12:01", "fired"), ("12:02", "fired")]
