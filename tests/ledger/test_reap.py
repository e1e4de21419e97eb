"""Leases of workers that are gone or silent are ended: charged, tried again, and dead at the limit."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from scheduling import ledger, retry
from scheduling.ledger.values import Succeed
from scheduling.models import Attempt, Lease, Schedule
from scheduling.states import DeadReason, Outcome, TaskState
from tenants.models import Tenant
from tests.ledger.kit import LEASE, at, outcomes, put, run, say, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_a_lost_worker_costs_its_task_one_attempt_of_five(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=5, priority=3)
    (lost,) = take()
    (ended,) = ledger.reap(ledger.held_leases(), now=at(11))
    assert (ended.task_id, ended.generation, ended.state) == (task_id, 1, TaskState.QUEUED)
    waiting = task(task_id)
    assert (waiting.state, waiting.attempts, waiting.dead_reason) == (TaskState.QUEUED, 1, None)
    assert Schedule.objects.get(pk=task_id).priority == 3
    told = Attempt.objects.get()
    assert (told.outcome, told.number, told.worker) == (Outcome.LOST, 1, lost.worker)
    assert (told.started_at, told.finished_at) == (lost.acquired_at, at(11))

    (again,) = take(now=at(60))
    assert (again.generation, again.attempt, again.max_attempts) == (2, 2, 5)


def test_a_lost_task_comes_back_within_the_backoff_of_its_attempt(tenant_a: Tenant) -> None:
    ids = put(tenant_a, 30)
    take(30)
    ledger.reap(ledger.held_leases(), now=at(11))
    longest = retry.ceiling(1, base=retry.LOST_BASE)
    waits = [one.due_at - at(11) for one in Schedule.objects.filter(pk__in=ids)]
    assert all(timedelta(0) <= wait <= longest for wait in waits)
    assert len(set(waits)) > 10, "a crowd of lost tasks does not come back in one instant"


def test_the_backoff_grows_with_every_loss(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tenant_a, max_attempts=9)
    asked: list[int] = []

    def backoff(attempt: int, *, base: timedelta) -> timedelta:
        assert base == retry.LOST_BASE
        asked.append(attempt)
        return timedelta(0)

    monkeypatch.setattr(retry, "backoff", backoff)
    for second in (11, 22, 33):
        take(now=at(second))
        ledger.reap(ledger.held_leases(), now=at(second))
    assert asked == [1, 2, 3]


def test_a_task_that_kills_its_workers_starts_three_times_and_is_dead(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=3)
    for second in (0, 60, 120):
        assert len(take(now=at(second))) == 1
        ledger.reap(ledger.held_leases(), now=at(second + 11))
    dead = task(task_id)
    assert (dead.state, dead.dead_reason) == (TaskState.DEAD, DeadReason.WORKER_LOST)
    assert dead.error is not None
    assert dead.error["class"] == "WorkerLost"
    assert outcomes(task_id) == ["lost"] * 3
    assert take(now=at(9999)) == []


def test_a_task_of_one_attempt_is_dead_when_its_worker_is_lost(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=1)
    take()
    (ended,) = ledger.reap(ledger.held_leases(), now=at(11))
    assert (ended.state, ended.due_at) == (TaskState.DEAD, None)
    assert task(task_id).dead_reason == DeadReason.WORKER_LOST


def test_what_was_not_to_blame_is_released_uncharged_and_due_at_once(tenant_a: Tenant) -> None:
    poison, bystander = put(tenant_a, 2, max_attempts=1)
    take(2)
    ended = ledger.reap(ledger.held_leases(), uncharged={bystander}, now=at(11))
    assert {one.task_id: one.state for one in ended} == {
        poison: TaskState.DEAD,
        bystander: TaskState.QUEUED,
    }
    assert outcomes(bystander) == ["released"]
    assert run(take(now=at(11)), now=at(11)) == [bystander]


def test_the_note_says_why_the_worker_was_lost(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    take()
    ledger.reap(ledger.held_leases(), note="Killed by signal 9.", now=at(11))
    assert task(task_id).error == {"class": "WorkerLost", "message": "Killed by signal 9."}


def test_a_lease_that_was_renewed_since_is_left_alone(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    silent, alive = take(), take()
    read = ledger.held_leases()
    ledger.renew(alive, lease=LEASE, now=at(9))
    ended = ledger.reap(read, now=at(11))
    assert [one.task_id for one in ended] == [silent[0].task_id]
    assert [held.task_id for held in ledger.held_leases()] == [alive[0].task_id]


def test_a_lease_that_was_settled_since_is_left_alone(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    claims = take()
    read = ledger.held_leases()
    say(claims, Succeed(), now=at(10))
    assert ledger.reap(read, now=at(11)) == []
    assert outcomes(task_id) == ["succeeded"]


def test_a_lease_of_a_later_generation_is_left_alone(tenant_a: Tenant) -> None:
    put(tenant_a)
    worker = uuid4()
    take(worker=worker)
    read = ledger.held_leases()
    ledger.reap(read, now=at(11))
    (current,) = take(worker=worker, now=at(60))
    assert ledger.reap(read, now=at(61)) == []
    assert len(say(current, Succeed(), now=at(62)).settled) == 1


@pytest.mark.parametrize(
    "other", [{"generation": 2}, {"worker": uuid4()}], ids=["generation", "worker"]
)
def test_a_lease_with_the_same_end_is_not_taken_for_the_one_that_was_read(
    tenant_a: Tenant, other: dict[str, Any]
) -> None:
    put(tenant_a)
    take()
    (held,) = ledger.held_leases()
    assert ledger.reap([replace(held, **other)], now=at(11)) == []
    assert ledger.held_leases() == [held]


def test_two_reapers_with_the_same_leases_charge_once(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    take()
    read = ledger.held_leases()
    assert len(ledger.reap(read, now=at(11))) == 1
    assert ledger.reap(read, now=at(11)) == []
    assert task(task_id).attempts == 1


def test_reaping_waits_for_no_pause(tenant_a: Tenant) -> None:
    put(tenant_a)
    take()
    ledger.pause(by="operator", now=at(1))
    assert len(ledger.reap(ledger.held_leases(), now=at(11))) == 1


def test_held_leases_are_those_of_one_worker_or_of_all(tenant_a: Tenant) -> None:
    put(tenant_a, 3)
    worker = uuid4()
    mine, other = take(2, worker=worker), take()
    assert {held.task_id for held in ledger.held_leases(worker)} == {one.task_id for one in mine}
    assert len(ledger.held_leases()) == 3
    (held,) = ledger.held_leases(other[0].worker)
    assert (held.generation, held.expires_at, held.seconds) == (1, at(10), 10.0)
    assert ledger.held_leases(uuid4()) == []


def test_nothing_to_reap_ends_nothing(tenant_a: Tenant) -> None:
    put(tenant_a)
    take()
    assert ledger.reap([], now=at(11)) == []
    assert Lease.objects.count() == 1
