"""A cancellation against whoever else moves the same task."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest

from scheduling import ledger
from scheduling.ledger import Cancelling, Fail, Failure, Succeed, Verdict
from scheduling.models import Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.races.kit import Session, at_once, put, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

RETRY_NOW = Fail(Failure("ValueError", "no luck"), timedelta(0))


def cancel(task_id: UUID) -> Cancelling:
    (answer,) = ledger.cancel([task_id])
    return answer


def state(task_id: UUID) -> str:
    return Task.objects.get(pk=task_id).state


def test_a_cancellation_that_comes_after_the_claim_asks_the_handler_to_stop(
    tenant_a: Tenant,
) -> None:
    (task_id,) = put(tenant_a)
    with Session() as worker, Session() as caller:
        with worker.transaction():
            worker.do(take)
            cancelling = caller.start_and_wait_for_a_lock(partial(cancel, task_id))
        assert cancelling.result() == Cancelling(task_id, TaskState.RUNNING, requested=True)
    assert Task.objects.get(pk=task_id).cancel_requested_at


def test_a_claim_that_comes_after_the_cancellation_finds_nothing(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    with Session() as worker, Session() as caller:
        with caller.transaction():
            assert caller.do(partial(cancel, task_id)).state is TaskState.CANCELLED
            claiming = worker.start(take)
            worker.wait_for_a_lock_or(claiming)
        assert claiming.result() == []
    assert take() == []
    assert state(task_id) == TaskState.CANCELLED


def test_a_cancellation_catches_a_task_that_was_just_going_back_to_its_queue(
    tenant_a: Tenant,
) -> None:
    (task_id,) = put(tenant_a)
    claims = take()
    with Session() as worker, Session() as caller:
        with worker.transaction():
            worker.do(partial(say, claims, RETRY_NOW))
            cancelling = caller.start_and_wait_for_a_lock(partial(cancel, task_id))
        assert cancelling.result() == Cancelling(task_id, TaskState.CANCELLED, requested=True)
    assert state(task_id) == TaskState.CANCELLED
    assert take() == []


@pytest.mark.parametrize(
    ("verdict", "end"), [(Succeed(), TaskState.SUCCEEDED), (RETRY_NOW, TaskState.CANCELLED)]
)
def test_a_settlement_that_comes_after_the_cancellation_obeys_it(
    verdict: Verdict, end: TaskState, tenant_a: Tenant
) -> None:
    (task_id,) = put(tenant_a)
    claims = take()
    with Session() as worker, Session() as caller:
        with caller.transaction():
            assert caller.do(partial(cancel, task_id)).state is TaskState.RUNNING
            settling = worker.start_and_wait_for_a_lock(partial(say, claims, verdict))
        assert [one.state for one in settling.result().settled] == [end]


def test_successes_at_the_same_time_as_cancellations_stand(tenant_a: Tenant) -> None:
    put(tenant_a, 200)
    claims = take(200)
    ids = [claim.task_id for claim in claims]

    def succeed() -> Sequence[object]:
        return [say([claim]) for claim in claims]

    def cancel_all() -> Sequence[object]:
        return [cancel(task_id) for task_id in reversed(ids)]

    at_once(succeed, cancel_all)
    assert {state(task_id) for task_id in ids} == {TaskState.SUCCEEDED}


def test_of_cancellations_and_claims_at_once_each_task_gets_one(tenant_a: Tenant) -> None:
    ids = put(tenant_a, 200)

    def claim_all() -> list[UUID]:
        return [claim.task_id for _ in ids for claim in take()]

    def cancel_all() -> list[UUID]:
        answers = [cancel(task_id) for task_id in reversed(ids)]
        assert all(answer.requested for answer in answers)
        return [one.task_id for one in answers if one.state is TaskState.CANCELLED]

    claimed, cancelled = at_once(claim_all, cancel_all)
    assert sorted(claimed + cancelled) == sorted(ids)
