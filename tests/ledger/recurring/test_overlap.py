"""Scenario 41: a minutely task that takes longer than a minute, under each policy."""

from datetime import timedelta
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.errors import Overlapping
from scheduling.ledger.values import Claim
from scheduling.models import Lease, Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.ledger.kit import at, failing, run, say, take
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


def test_forbidden_never_runs_two(tenant_a: Tenant) -> None:
    """A run of 150 s: one tick in three makes a task."""
    row = recurring(tenant_a, overlap="skip")
    claims: list[Claim] = []
    ends_at: int | None = None
    for second in range(0, 600, 10):
        if ends_at is not None and second >= ends_at:
            run(claims, now=at(second))
            claims, ends_at = [], None
        fire(at(second))
        if found := take(10, now=at(second)):
            claims, ends_at = [*claims, *found], second + 150
        assert Lease.objects.count() <= 1
    assert told(row) == [
        ("12:01", "fired"),
        ("12:02", "skipped_overlap"),
        ("12:03", "skipped_overlap"),
        ("12:04", "fired"),
        ("12:05", "skipped_overlap"),
        ("12:06", "skipped_overlap"),
        ("12:07", "fired"),
        ("12:08", "skipped_overlap"),
        ("12:09", "skipped_overlap"),
    ]


def test_a_task_that_still_waits_is_in_the_way_as_well(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="skip")
    fire(at(60))
    fire(at(120))
    assert told(row) == [("12:01", "fired"), ("12:02", "skipped_overlap")]


def test_allowed_they_run_beside_each_other(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow")
    for minute in range(1, 4):
        fire(at(60 * minute))
        start_one(at(60 * minute))
    assert Lease.objects.count() == 3
    assert outcomes(row) == {"fired": 3}


def test_a_crash_frees_the_guard(tenant_a: Tenant) -> None:
    """The task is lost as often as it may be, and then nothing of it is in the way."""
    row = recurring(tenant_a, overlap="skip", max_attempts=1)
    fire(at(60))
    start_one(at(60))
    fire(at(120))
    ledger.reap(ledger.held_leases(), now=at(121))
    assert Task.objects.get().state == TaskState.DEAD
    fire(at(180))
    assert told(row) == [("12:01", "fired"), ("12:02", "skipped_overlap"), ("12:03", "fired")]


def test_one_waits_for_its_turn_and_further_ones_are_skipped(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="buffer_one")
    fire(at(60))
    claim = start_one(at(60))
    for minute in (2, 3, 4):
        fire(at(60 * minute))
    assert told(row)[1:] == [
        ("12:02", None),
        ("12:03", "skipped_overlap"),
        ("12:04", "skipped_overlap"),
    ]
    run([claim], now=at(250))
    assert ledger.fire_due(now=at(251)).fired == 1
    assert told(row)[1] == ("12:02", "fired")
    fire(at(300))
    assert told(row)[-1] == ("12:05", None)


def test_the_newest_waits_while_its_predecessor_is_asked_to_stop(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="cancel_other")
    fire(at(60))
    claim = start_one(at(60))
    fire(at(120))
    assert Task.objects.get().cancel_requested_at is not None
    assert told(row)[-1] == ("12:02", None)
    fire(at(180))
    assert told(row)[1:] == [("12:02", "skipped_overlap"), ("12:03", None)]
    say(claim, failing(), now=at(185))
    assert ledger.fire_due(now=at(186)).fired == 1
    assert told(row)[-1] == ("12:03", "fired")


def test_a_predecessor_that_only_waits_is_cancelled_and_replaced_at_once(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="cancel_other")
    fire(at(60))
    assert fire(at(120)) == 1
    assert told(row) == [("12:01", "fired"), ("12:02", "fired")]
    states = Task.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == [TaskState.CANCELLED, TaskState.QUEUED]


def test_one_whose_cancellation_was_not_asked_for_in_time_is_asked_later(tenant_a: Tenant) -> None:
    """Whoever let the tick wait died before it came to that."""
    recurring(tenant_a, overlap="cancel_other")
    fire(at(60))
    start_one(at(60))
    ledger.fire_due(now=at(120))  # accounts for the tick, and the next look would cancel
    assert Task.objects.get().cancel_requested_at is None
    ledger.fire_due(now=at(121))
    assert Task.objects.get().cancel_requested_at is not None


def test_dead_tasks_in_a_row_pause_it(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, pause_after_failures=2, max_attempts=1)
    for minute in (1, 2):
        fire(at(60 * minute))
        say(start_one(at(60 * minute)), failing(retry_in=None), now=at(60 * minute + 1))
    assert fire(at(180)) == 0
    stands = again(row)
    assert (stands.paused, stands.failures, stands.fires_at) == (True, 2, None)
    assert stands.paused_reason == "2 of its tasks in a row are dead."
    ledger.pause_recurring(row.pk, False, now=at(185))
    assert fire(at(240)) == 1
    assert told(row)[2:] == [("12:03", "missed"), ("12:04", "fired")]
    assert "2 of its tasks in a row are dead" in reasons(row)[0]


def test_a_success_in_between_counts_anew(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, pause_after_failures=2, max_attempts=1)
    for minute, dies in enumerate((True, False, True, False), start=1):
        fire(at(60 * minute))
        claim = start_one(at(60 * minute))
        if dies:
            say(claim, failing(retry_in=None), now=at(60 * minute + 1))
        else:
            run([claim], now=at(60 * minute + 1))
    fire(at(300))
    assert not again(row).paused
    assert again(row).failures == 0


def test_a_retry_is_no_failure_and_still_in_the_way(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, pause_after_failures=1)
    fire(at(60))
    say(start_one(at(60)), failing(retry_in=timedelta(hours=1)), now=at(61))
    fire(at(120))
    assert told(row)[-1] == ("12:02", "skipped_overlap")
    assert not again(row).paused


def test_run_now_is_refused_while_one_runs_that_may_not_overlap(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="skip")
    fire(at(60))
    claim = start_one(at(60))
    with pytest.raises(Overlapping, match=str(claim.task_id)):
        ledger.run_now(row.pk, now=at(61))
    run([claim], now=at(62))
    task_id = ledger.run_now(row.pk, now=at(63))
    fire(at(120))
    assert told(row)[-1] == ("12:02", "skipped_overlap")  # the extra run is in the way
    assert Task.objects.filter(pk=task_id).exists()


def test_a_redriven_task_is_its_operators_and_no_tick_waits_for_it(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, max_attempts=1)
    fire(at(60))
    claim = start_one(at(60))
    say(claim, failing(retry_in=None), now=at(61))
    fire(at(120))
    work_off(at(121))
    ledger.redrive([claim.task_id], now=at(150))
    fire(at(180))
    assert [outcome for _, outcome in told(row)] == ["fired"] * 3


@pytest.mark.parametrize("overlap", ["skip", "buffer_one", "cancel_other"])
def test_a_task_that_is_redriven_before_anybody_looks_was_dead_all_the_same(
    tenant_a: Tenant, overlap: str
) -> None:
    row = recurring(tenant_a, overlap=overlap, max_attempts=1)
    fire(at(60))
    claim = start_one(at(60))
    say(claim, failing(retry_in=None), now=at(61))
    ledger.redrive([claim.task_id], now=at(62))
    fire(at(120))
    assert told(row) == [("12:01", "fired"), ("12:02", "fired")]
    assert again(row).failures == 1
    assert Task.objects.get(pk=claim.task_id).state == TaskState.QUEUED


def test_a_tick_that_waited_for_a_task_does_not_wait_for_its_redriven_run(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="buffer_one", max_attempts=1)
    fire(at(60))
    claim = start_one(at(60))
    fire(at(120))
    say(claim, failing(retry_in=None), now=at(121))
    ledger.redrive([claim.task_id], now=at(122))
    fire(at(123))
    assert told(row)[-1] == ("12:02", "fired")


def test_workers_of_other_rows_are_not_in_the_way(tenant_a: Tenant, tenant_b: Tenant) -> None:
    mine, theirs = recurring(tenant_a), recurring(tenant_b)
    fire(at(60))
    ledger.claim(uuid4(), limit=1, now=at(60))
    run(take(now=at(60)), now=at(61))
    fire(at(120))
    seconds = [told(mine)[-1][1], told(theirs)[-1][1]]
    assert sorted(map(str, seconds)) == ["fired", "skipped_overlap"]


def test_what_waited_when_failures_paused_it_is_missed(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="buffer_one", pause_after_failures=1, max_attempts=1)
    fire(at(60))
    claim = start_one(at(60))
    fire(at(120))
    say(claim, failing(retry_in=None), now=at(125))
    assert fire(at(126)) == 0
    assert again(row).paused
    assert told(row)[-1] == ("12:02", "missed")
    assert ledger.fire_due(now=at(127)).next_look is None


def test_failures_are_seen_by_an_extra_run_as_well(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, pause_after_failures=1, max_attempts=1)
    fire(at(60))
    say(start_one(at(60)), failing(retry_in=None), now=at(61))
    ledger.run_now(row.pk, now=at(62))
    assert again(row).paused
    assert fire(at(120)) == 0
