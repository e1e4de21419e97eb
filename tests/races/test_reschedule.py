"""Rescheduling against whoever else moves the same task."""

from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest

from scheduling import clock, ledger
from scheduling.ledger import Fail, Failure
from scheduling.models import Schedule
from tenants.models import Tenant
from tests.races.kit import Session, at_once, put, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def put_off(*task_ids: UUID) -> set[UUID]:
    return ledger.reschedule(task_ids, due_at=clock.now() + timedelta(hours=1))


def test_a_reschedule_that_comes_after_the_claim_changes_nothing(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    with Session() as worker, Session() as operator:
        with worker.transaction():
            assert len(worker.do(take)) == 1
            rescheduling = operator.start_and_wait_for_a_lock(partial(put_off, task_id))
        assert rescheduling.result() == set()


def test_a_claim_that_comes_after_the_reschedule_finds_nothing(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    with Session() as worker, Session() as operator:
        with operator.transaction():
            assert operator.do(partial(put_off, task_id)) == {task_id}
            claiming = worker.start(take)
            worker.wait_for_a_lock_or(claiming)
        assert claiming.result() == []
    assert take() == []


def test_a_claim_that_passes_by_a_change_of_priority_leaves_the_lane_open(tenant_a: Tenant) -> None:
    """It may find the only task of the lane locked, and must not take the lane for empty."""
    (task_id,) = put(tenant_a)
    with Session() as worker, Session() as operator:
        with operator.transaction():
            operator.do(partial(ledger.reschedule, [task_id], priority=5))
            claiming = worker.start(take)
            worker.wait_for_a_lock_or(claiming)
        claimed = [claim.task_id for claim in claiming.result() + take()]
    assert claimed == [task_id]


def test_a_reschedule_that_meets_a_cancellation_finds_nothing(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    with Session() as one, Session() as two:
        with one.transaction():
            one.do(partial(ledger.cancel, [task_id]))
            rescheduling = two.start_and_wait_for_a_lock(partial(put_off, task_id))
        assert rescheduling.result() == set()


def test_reschedules_and_retries_at_once_leave_each_task_due_once(tenant_a: Tenant) -> None:
    ids = put(tenant_a, 100)
    claims = take(50)
    retry = Fail(Failure("ValueError", "no luck"), timedelta(0))

    def fail_all() -> object:
        return [say([claim], retry) for claim in claims]

    def bring_forward() -> object:
        return [ledger.reschedule(ids[::-1], due_at=clock.now(), priority=n) for n in range(20)]

    def put_all_off() -> object:
        return [put_off(*ids) for _ in range(20)]

    at_once(fail_all, bring_forward, put_all_off)
    assert Schedule.objects.count() == 100
    assert ledger.reschedule(ids, due_at=clock.now()) == {*ids}
    ledger.promote()
    assert len(take(100)) == 100
