"""A tick makes one task, at its instant, and what comes next is computed from the rule alone."""

from datetime import timedelta
from threading import Event

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduling import ledger
from scheduling.builtin.demo import echo
from scheduling.context import Context
from scheduling.ids import uuid7
from scheduling.ledger import wake
from scheduling.ledger.recurring.rule import share_of
from scheduling.models import RecurringTask, Schedule, Task, Tick
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.ledger.kit import START, at, put, take
from tests.ledger.recurring.kit import MINUTE, again, fire, recurring, told, utc, work_off
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_a_tick_makes_its_task_at_its_instant_and_not_before(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)

    assert fire(at(59.9)) == 0
    assert fire(at(60)) == 1
    assert fire(at(60)) == 0

    assert told(row) == [("12:01", "fired")]
    assert Tick.objects.get().task == Task.objects.get()


def test_the_next_look_is_at_whatever_comes_first(tenant_a: Tenant) -> None:
    recurring(tenant_a, name="late", cron="0 * * * *")
    recurring(tenant_a, name="soon", overlap="buffer_one")
    fire(at(60))
    assert ledger.fire_due(now=at(61)).next_look == at(120)
    fire(
        at(120)
    )  # it waits for the first to be over, and is looked at more often than once a minute
    assert Tick.objects.waiting().count() == 1
    next_look = ledger.fire_due(now=at(121)).next_look
    assert next_look
    assert at(121) < next_look < at(180)


def test_the_task_is_what_the_row_says(tenant_a: Tenant) -> None:
    recurring(
        tenant_a,
        task_name="reports.nightly",
        payload={"day": 1},
        queue="mail",
        priority=7,
        max_attempts=5,
        timeout_seconds=30,
        deadline_seconds=600,
    )
    fire(at(61))

    task = Task.objects.get()
    assert (task.tenant, task.name, task.queue, task.priority) == (
        tenant_a,
        "reports.nightly",
        "mail",
        7,
    )
    assert (task.args, task.kwargs) == ([], {"day": 1})
    assert (task.max_attempts, task.timeout_seconds, task.deadline) == (5, 30, at(661))
    assert Schedule.objects.get().due_at == at(61)


def test_its_handler_is_told_for_which_instant_it_runs_however_late_that_is(
    tenant_a: Tenant,
) -> None:
    recurring(tenant_a)
    fire(at(75))
    put(tenant_a, now=at(75))
    claims = take(2, now=at(400))
    ticks = [Context(claim, echo, Event(), Event()).tick for claim in claims]
    assert sorted(map(str, ticks)) == sorted([str(at(60)), "None"])


def test_the_next_tick_counts_from_the_last_one_and_not_from_when_it_was_looked_at(
    tenant_a: Tenant,
) -> None:
    row = recurring(tenant_a, every_seconds=90)
    fire(at(119.5))
    assert again(row).next_at == at(180)
    assert told(row) == [("12:01", "fired")]  # 90 s after the epoch's rhythm, not after creation


def test_an_interval_counts_from_its_anchor(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, every_seconds=3600, anchor=START - timedelta(minutes=20))
    assert row.next_at == START + timedelta(minutes=40)


def test_nothing_fires_before_the_start_or_after_the_end(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, starts_at=at(120), ends_at=at(240))
    for minute in range(1, 6):
        fire(at(60 * minute))
        work_off(at(60 * minute))

    assert told(row) == [("12:02", "fired"), ("12:03", "fired")]
    assert (again(row).next_at, again(row).fires_at) == (None, None)
    assert ledger.fire_due(now=at(600)).next_look is None


def test_jitter_delays_a_tick_by_its_own_share_and_leaves_its_instant_alone(
    tenant_a: Tenant,
) -> None:
    row = recurring(tenant_a, jitter_seconds=40)
    delay = share_of(row.pk, at(60)) * timedelta(seconds=40)
    assert row.next_at == at(60)
    assert row.fires_at == at(60) + delay

    assert fire(at(60) + delay - timedelta(microseconds=1)) == 0
    assert fire(at(60) + delay) == 1
    assert told(row) == [("12:01", "fired")]


def test_jitter_never_takes_a_tick_past_the_next_one(tenant_a: Tenant) -> None:
    rows = [recurring(tenant_a, name=f"n{n}", jitter_seconds=86_400) for n in range(20)]
    assert all(at(60) <= row.fires_at < at(120) for row in rows if row.fires_at)
    assert len({row.fires_at for row in rows}) == 20


def test_a_row_that_cannot_be_followed_is_disabled_and_the_others_fire(
    tenant_a: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    good = recurring(tenant_a, name="good")
    broken = recurring(tenant_a, name="broken")
    unreadable = recurring(tenant_a, name="unreadable")
    RecurringTask.objects.filter(pk=broken.pk).update(timezone="Atlantis/Capital")
    RecurringTask.objects.filter(pk=unreadable.pk).update(payload=[1])

    assert fire(at(60)) == 1

    assert told(good) == [("12:01", "fired")]
    assert "Atlantis/Capital" in again(broken).disabled_reason
    assert "payload" in again(unreadable).disabled_reason
    assert again(broken).fires_at is None
    assert fire(at(120)) == 0
    assert told(broken) == []
    assert "is disabled" in caplog.text


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL keeps such text out.")
@pytest.mark.parametrize("field", ["reached_at", "next_at", "fires_at", "starts_at"])
@pytest.mark.parametrize("text", ["", "yesterday"])
def test_an_instant_that_is_none_stands_in_nobodys_way(
    tenant_a: Tenant, field: str, text: str
) -> None:
    row, good = recurring(tenant_a, name="broken"), recurring(tenant_a, name="good")
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE scheduling_recurringtask SET {field} = %s WHERE id = %s",  # noqa: S608
            [text, row.pk.hex],
        )
    fire(at(60))
    assert told(good) == [("12:01", "fired")]
    with connection.cursor() as cursor:  # for the recount
        cursor.execute("DELETE FROM scheduling_tick WHERE recurring_id = %s", [row.pk.hex])
        cursor.execute("DELETE FROM scheduling_recurringtask WHERE id = %s", [row.pk.hex])


def test_what_the_database_refuses_disables_its_row_and_no_other(
    tenant_a: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    before, bad, after = (recurring(tenant_a, name=name) for name in ("before", "bad", "after"))
    Tick.objects.create(
        recurring=bad, at=at(60), outcome="missed", decided_at=START
    )  # there already, which no run of the program leaves behind

    looked = ledger.fire_due(now=at(60))

    assert (looked.fired, looked.looked_at) == (2, 3)
    assert told(before) == told(after) == [("12:01", "fired")]
    assert "refuses" in again(bad).disabled_reason
    assert again(bad).version == 2
    assert "one by one" in caplog.text
    Tick.objects.filter(recurring=bad).delete()


def test_what_waits_and_is_refused_by_the_database_disables_its_row_and_no_other(
    tenant_a: Tenant,
) -> None:
    bad, good = (recurring(tenant_a, name=name, overlap="buffer_one") for name in ("bad", "good"))
    fire(at(60))
    fire(at(120))
    there_already = Tick.objects.create(
        recurring=bad, at=at(120), origin="backfill", outcome="fired", decided_at=at(120),
        task_id=uuid7(),
    )  # which no run of the program leaves behind  # fmt: skip
    work_off(at(121))

    assert fire(at(122)) == 1

    assert told(good) == [("12:01", "fired"), ("12:02", "fired")]
    assert "refuses" in again(bad).disabled_reason
    assert told(bad, origin="rule") == [("12:01", "fired"), ("12:02", "missed")]
    there_already.delete()


def test_of_more_than_fit_into_a_batch_those_in_time_come_before_those_that_lay_still(
    tenant_a: Tenant,
) -> None:
    late = [recurring(tenant_a, name=f"late-{n}", cron=f"{n} * * * *") for n in (1, 2)]
    ledger.fire_due(now=START)
    for n in range(2):
        recurring(tenant_a, name=f"in-time-{n}", cron="30 * * * *", now=at(1740))
    now = at(1800)
    assert ledger.fire_due(limit=3, now=now).looked_at == 3
    waiting = list(RecurringTask.objects.due(now))
    assert waiting == late[:1]  # who lay still for longest
    assert ledger.fire_due(limit=3, now=now).looked_at == 1
    assert ledger.fire_due(limit=3, now=now).looked_at == 0


def test_what_waits_of_a_row_that_is_disabled_is_missed(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="buffer_one")
    fire(at(60))
    fire(at(120))
    RecurringTask.objects.update(timezone="Atlantis/Capital")
    fire(at(180))
    assert told(row) == [("12:01", "fired"), ("12:02", "missed")]


def test_idle_looks_read_two_index_entries_and_write_nothing(tenant_a: Tenant) -> None:
    recurring(tenant_a)
    with CaptureQueriesContext(connection) as queries:
        ledger.fire_due(now=at(1))
    assert {query["sql"].split()[0] for query in queries} == {"SELECT"}
    assert len(queries) == 4


def test_a_tick_is_fired_whatever_is_paused_and_its_task_waits(tenant_a: Tenant) -> None:
    ledger.pause(by="operator", now=START)
    row = recurring(tenant_a)
    assert fire(at(60)) == 1
    assert work_off(at(60)) == 0
    assert Task.objects.get().state == TaskState.QUEUED
    fire(at(120))
    assert told(row) == [("12:01", "fired"), ("12:02", "skipped_overlap")]
    ledger.resume(by="operator", now=at(121))


def test_a_wake_up_call_comes_with_whatever_moves_the_next_tick(tenant_a: Tenant) -> None:
    listener = wake.listen()
    try:
        row = recurring(tenant_a)
        assert until(listener.drain) == {"tick"}
        ledger.edit_recurring(row.pk, {"cron": "*/2 * * * *"}, now=at(1))
        assert until(listener.drain) == {"tick"}
        ledger.pause_recurring(row.pk, True, now=at(2))
        ledger.pause_recurring(row.pk, False, now=at(3))
        assert until(listener.drain) == {"tick"}
    finally:
        listener.close()


def test_dst_is_told_for_each_instant(tenant_a: Tenant) -> None:
    """Scenarios 33 and 34: once, right after the jump, or at the first of two."""
    row = recurring(
        tenant_a, cron="30 2 * * *", timezone="Europe/Berlin", now=utc("2027-03-27T12:00")
    )
    assert row.next_at == utc("2027-03-28T01:00")
    fire(utc("2027-03-28T01:00"))
    work_off(utc("2027-03-28T01:01"))
    assert told(row) == [("01:00", "fired")]
    assert again(row).next_at == utc("2027-03-29T00:30")


def test_the_second_showing_of_a_time_is_accounted_for_as_skipped(tenant_a: Tenant) -> None:
    row = recurring(
        tenant_a, cron="30 2 * * *", timezone="Europe/Berlin", now=utc("2027-10-30T12:00")
    )
    assert row.next_at == utc("2027-10-31T00:30")
    fire(utc("2027-10-31T00:30"))
    work_off(utc("2027-10-31T00:31"))
    assert told(row) == [("00:30", "fired")]
    assert again(row).next_at == utc("2027-11-01T01:30")
    fire(utc("2027-10-31T01:30"))
    assert told(row) == [("00:30", "fired"), ("01:30", "skipped_dst")]


def test_intervals_run_through_a_repeated_hour_in_real_time(tenant_a: Tenant) -> None:
    """Scenario 35."""
    now = utc("2027-10-31T00:00")
    row = recurring(tenant_a, cron="*/15 * * * *", timezone="Europe/Berlin", now=now)
    for quarter in range(1, 14):
        now = utc("2027-10-31T00:00") + quarter * 15 * MINUTE
        fire(now)
        work_off(now)
        following = again(row).next_at
        assert following is not None
        assert following > now
    assert [outcome for _, outcome in told(row)] == ["fired"] * 13
