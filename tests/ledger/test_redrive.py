"""Dead letters: run again with a fresh allowance, or thrown away; never lost silently."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from scheduling import ledger
from scheduling.errors import LimitExceeded, Overloaded
from scheduling.ledger import capacity
from scheduling.ledger.values import Succeed
from scheduling.models import Attempt, Refusal, Schedule, Task
from scheduling.states import DeadReason, TaskState
from tenants.models import Tenant
from tests.ledger.kit import at, failing, outcomes, put, run, say, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def bury(tenant: Tenant, count: int = 1, **options: Any) -> list[UUID]:
    """Dead letters, after one permanent failure each."""
    ids = put(tenant, count, **options)
    say(take(count), failing(retry_in=None))
    return ids


def test_a_task_that_used_up_its_allowance_gets_a_fresh_one(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=3, priority=5, label="order 4711")
    for _ in range(3):
        say(take(), failing())
    assert task(task_id).state == TaskState.DEAD

    assert ledger.redrive([task_id], now=at(60)) == 1

    again = task(task_id)
    assert (again.state, again.attempts, again.dead_reason) == (TaskState.QUEUED, 0, None)
    assert (again.generation, again.redriven_from, again.finished_at) == (3, 3, None)
    assert again.label == "order 4711"
    schedule = Schedule.objects.get(pk=task_id)
    assert (schedule.due_at, schedule.priority) == (at(60), 5)
    (claim,) = take(now=at(60))
    assert (claim.generation, claim.attempt, claim.max_attempts) == (4, 1, 3)


def test_the_history_stays_and_goes_on(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=2)
    for _ in range(2):
        for _ in range(2):
            say(take(now=at(1)), failing(), now=at(1))
        assert task(task_id).dead_reason == DeadReason.ATTEMPTS_EXHAUSTED
        ledger.redrive([task_id], now=at(1))
    run(take(now=at(1)), now=at(1))
    assert outcomes(task_id) == ["failed"] * 4 + ["succeeded"]
    assert list(task(task_id).history.values_list("number", flat=True)) == [1, 2, 1, 2, 1]
    assert (task(task_id).attempts, task(task_id).redriven_from) == (1, 4)


def test_redriving_twice_runs_once(tenant_a: Tenant) -> None:
    ids = bury(tenant_a)
    assert ledger.redrive(ids, now=at(1)) == 1
    assert ledger.redrive(ids, now=at(1)) == 0
    assert ledger.redrive(ids * 3, now=at(1)) == 0
    assert run(take(5, now=at(1)), now=at(1)) == ids


def test_what_is_not_dead_is_left_alone(tenant_a: Tenant) -> None:
    (dead,) = bury(tenant_a)
    (done,) = put(tenant_a)
    run(take())
    (running,) = put(tenant_a)
    take()
    (waiting,) = put(tenant_a, due_at=at(60))
    (cancelled,) = put(tenant_a)
    ledger.cancel([cancelled])
    assert ledger.redrive([dead, done, running, waiting, cancelled, uuid4()], now=at(1)) == 1
    assert task(done).state == TaskState.SUCCEEDED
    assert task(running).state == TaskState.RUNNING
    assert Schedule.objects.get(pk=waiting).due_at == at(60)
    assert task(cancelled).state == TaskState.CANCELLED


def test_over_max_queued_none_of_the_batch_is_queued(tenant_a: Tenant, tenant_b: Tenant) -> None:
    ids = [*bury(tenant_a, 2), *bury(tenant_b, 1)]
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=2)
    put(tenant_a)
    with pytest.raises(LimitExceeded) as refusal:
        ledger.redrive(ids, now=at(1))
    assert refusal.value.limit == "max_queued"
    assert Task.objects.filter(state=TaskState.DEAD).count() == 3
    assert ledger.redrive(ids[1:], now=at(1)) == 2


def test_as_many_are_redriven_as_fit_and_of_who_is_full_no_more_are_tried(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    mine, theirs = bury(tenant_a, 5), bury(tenant_b, 2)
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=3)
    tasks = list(Task.objects.dead().order_by("pk"))
    full: dict[int, ledger.Full] = {}
    ledger.redrive(theirs[:1], now=at(1))  # somebody else was faster
    done = ledger.redrive_what_fits(tasks, full)
    assert [one.pk for one in done] == [*mine[:3], *theirs[1:]]
    assert [(tenant_id, type(limit)) for tenant_id, limit in full.items()] == [
        (tenant_a.pk, LimitExceeded)
    ]
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=None)
    assert ledger.redrive_what_fits(tasks, full) == []
    assert len(ledger.redrive_what_fits(tasks, {})) == 2


def test_while_nobodys_tasks_are_accepted_all_are_full(
    tenant_a: Tenant, tenant_b: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [*bury(tenant_a, 2), *bury(tenant_b, 2)]
    over = Overloaded("The disk is nearly full.", retry_after=timedelta(seconds=5))

    def require_room() -> None:
        raise over

    monkeypatch.setattr(capacity, "require_room", require_room)
    full: dict[int, ledger.Full] = {}
    assert ledger.redrive_what_fits(list(Task.objects.filter(pk__in=ids)), full) == []
    assert full == {tenant_a.pk: over, tenant_b.pk: over}
    assert Task.objects.dead().count() == 4


def test_the_rate_counts_what_comes_in_and_not_what_is_redriven(tenant_a: Tenant) -> None:
    ids = bury(tenant_a, 5)
    Tenant.objects.filter(pk=tenant_a.pk).update(rate_per_second=0.01, rate_burst=1)
    assert ledger.redrive(ids[:1], now=at(1)) == 1
    put(tenant_a, now=at(1))
    assert ledger.redrive(ids[1:], now=at(1)) == 4


def test_who_is_over_both_limits_is_told_of_the_one_that_redriving_counts_by(
    tenant_a: Tenant,
) -> None:
    ids = bury(tenant_a, 2)
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=1, rate_per_second=0.01, rate_burst=1)
    put(tenant_a, now=at(1))
    with pytest.raises(LimitExceeded) as refusal:
        ledger.redrive(ids, now=at(1))
    assert refusal.value.limit == "max_queued"


def test_a_deadline_that_passed_does_not_kill_it_again(tenant_a: Tenant) -> None:
    (late,) = put(tenant_a, deadline=at(10))
    take(now=at(10))
    assert task(late).dead_reason == DeadReason.DEADLINE_PASSED
    ledger.redrive([late], now=at(10))
    assert task(late).deadline is None
    assert run(take(now=at(20)), now=at(20)) == [late]


def test_a_deadline_still_to_come_is_kept(tenant_a: Tenant) -> None:
    (task_id,) = bury(tenant_a, deadline=at(3600))
    ledger.redrive([task_id], now=at(1))
    assert task(task_id).deadline == at(3600)


def test_a_zombie_of_the_former_run_cannot_settle_the_new_one(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=1)
    (zombie,) = take()
    ledger.reap(ledger.held_leases(), now=at(11))
    ledger.redrive([task_id], now=at(12))
    assert len(say(zombie, Succeed(), now=at(13)).stale) == 1
    assert task(task_id).state == TaskState.QUEUED
    assert run(take(now=at(14)), now=at(14)) == [task_id]


def test_ten_thousand_in_bulk_run_once_each(tenant_a: Tenant) -> None:
    """In chunks, as every caller in bulk does."""
    no_limits = {"rate_per_second": None, "max_in_flight": None, "max_queued": None}
    Tenant.objects.filter(pk=tenant_a.pk).update(**no_limits)
    chunks = [bury(tenant_a, 1000) for _ in range(10)]
    assert [ledger.redrive(chunk, now=at(1)) for chunk in chunks] == [1000] * 10
    for chunk in chunks:
        assert run(take(1000, now=at(1)), now=at(1)) == chunk
    assert take(now=at(1)) == []


def test_discarded_dead_letters_are_gone_with_their_history(tenant_a: Tenant) -> None:
    (gone,) = put(tenant_a, max_attempts=1)
    (zombie,) = take()
    ledger.reap(ledger.held_leases(), now=at(11))
    say(zombie, Succeed(), now=at(12))
    (kept,) = bury(tenant_a)
    assert ledger.discard([gone]) == 1
    assert list(Task.objects.values_list("pk", flat=True)) == [kept]
    assert not Attempt.objects.filter(task=gone).exists()
    assert not Refusal.objects.filter(task=gone).exists()
    assert ledger.discard([gone]) == 0


def test_discarding_leaves_alone_what_is_not_dead(tenant_a: Tenant) -> None:
    (done,) = put(tenant_a)
    run(take())
    (waiting,) = put(tenant_a)
    assert ledger.discard([done, waiting, uuid4()]) == 0
    assert Task.objects.count() == 2


def test_a_discarded_key_is_free_again(tenant_a: Tenant) -> None:
    (gone,) = bury(tenant_a, idempotency_key="k", fingerprint="f")
    ledger.discard([gone])
    (fresh,) = put(tenant_a, idempotency_key="k", fingerprint="g")
    assert fresh != gone


def test_discarding_makes_no_room_twice(tenant_a: Tenant) -> None:
    """A dead letter stopped counting when it died."""
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=1)
    ledger.discard(bury(tenant_a))
    put(tenant_a)
    with pytest.raises(LimitExceeded):
        put(tenant_a)
