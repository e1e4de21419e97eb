"""A zombie and its successor that settle at the same instant: one outcome for each generation."""

from functools import partial
from threading import Barrier
from uuid import UUID

import pytest

from scheduling import ledger
from scheduling.ledger import Claim, HeldLease, Settling, Succeed
from scheduling.models import Attempt, Refusal, Task
from scheduling.states import Outcome, TaskState
from tenants.models import Tenant
from tests.races.kit import Session, put, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

ROUNDS = 200


def settle_late(claims: list[Claim], start: Barrier) -> Settling:
    start.wait()
    return say(claims, Succeed('"zombie"'))


def take_over(lease: HeldLease, start: Barrier) -> Settling:
    """End the silent worker's lease, claim its task anew and finish it."""
    start.wait()
    ledger.reap([lease], uncharged=[lease.task_id])
    return say(take(), Succeed('"successor"'))


def test_two_hundred_rounds_of_a_zombie_against_its_successor_have_one_outcome_each(
    tenant_a: Tenant,
) -> None:
    start = Barrier(2)
    with Session() as worker, Session() as other:
        for _ in range(ROUNDS):
            (task_id,) = put(tenant_a)
            claims, (lease,) = take(), ledger.held_leases()
            late = worker.start(partial(settle_late, claims, start))
            new = other.start(partial(take_over, lease, start))
            check(task_id, late.result(), new.result())
    assert Task.objects.filter(state=TaskState.SUCCEEDED).count() == ROUNDS


def check(task_id: UUID, late: Settling, new: Settling) -> None:
    outcomes = list(Attempt.objects.filter(task=task_id).values_list("outcome", flat=True))
    if late.settled:
        assert (outcomes, winner(task_id)) == ([Outcome.SUCCEEDED], "zombie")
        assert not new.settled
    else:
        assert (outcomes, winner(task_id)) == ([Outcome.RELEASED, Outcome.SUCCEEDED], "successor")
        assert [stale.generation for stale in late.stale] == [1]
        assert [one.generation for one in new.settled] == [2]
    assert Refusal.objects.filter(task=task_id).count() == len(late.stale)


def winner(task_id: UUID) -> object:
    return Task.objects.get(pk=task_id).result


def test_two_reapers_that_read_the_same_leases_end_each_once(tenant_a: Tenant) -> None:
    put(tenant_a, 50)
    take(50)
    held = ledger.held_leases()
    start = Barrier(2)

    def reap(leases: list[HeldLease]) -> int:
        start.wait()
        return len(ledger.reap(leases))

    with Session() as one, Session() as two:
        ended = one.start(partial(reap, held)), two.start(partial(reap, held[::-1]))
        assert sum(future.result() for future in ended) == 50
    assert Attempt.objects.filter(outcome=Outcome.LOST).count() == 50


def test_a_renewal_that_waited_for_the_reaper_is_stale(tenant_a: Tenant) -> None:
    put(tenant_a)
    claims, held = take(), ledger.held_leases()
    with Session() as worker, Session() as reaper:
        with reaper.transaction():
            assert len(reaper.do(partial(ledger.reap, held))) == 1
            renewing = worker.start_and_wait_for_a_lock(partial(ledger.renew, claims))
        assert [stale.task_id for stale in renewing.result().stale] == [claims[0].task_id]


def test_a_reaper_that_waited_for_a_renewal_ends_nothing(tenant_a: Tenant) -> None:
    put(tenant_a)
    claims, held = take(), ledger.held_leases()
    with Session() as worker, Session() as reaper:
        with worker.transaction():
            worker.do(partial(ledger.renew, claims))
            reaping = reaper.start_and_wait_for_a_lock(partial(ledger.reap, held))
        assert reaping.result() == []
    assert len(ledger.held_leases()) == 1


def test_a_batch_said_twice_at_once_is_settled_once_and_answered_twice(tenant_a: Tenant) -> None:
    put(tenant_a, 3)
    claims = take(3)
    with Session() as one, Session() as two:
        with one.transaction():
            assert len(one.do(partial(say, claims)).settled) == 3
            again = two.start_and_wait_for_a_lock(partial(say, claims))
        assert len(again.result().settled) == 3
    assert Attempt.objects.count() == 3
    assert not Refusal.objects.exists()
