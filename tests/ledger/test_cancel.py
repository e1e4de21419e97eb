"""Cancelling: at once what waits, on request what runs, and never what is over."""

from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.ledger.cancel import Cancelling
from scheduling.ledger.values import Snooze, Succeed
from scheduling.models import Attempt, Schedule
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.ledger.kit import NO_DELAY, START, at, failing, put, say, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_a_waiting_task_is_cancelled_and_never_starts(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    assert ledger.cancel([task_id], now=at(1)) == [
        Cancelling(task_id, TaskState.CANCELLED, requested=True)
    ]
    over = task(task_id)
    assert (over.state, over.finished_at, over.attempts) == (TaskState.CANCELLED, at(1), 0)
    assert over.cancel_requested_at == at(1)
    assert not Schedule.objects.exists()
    assert take(now=at(1)) == []
    assert not Attempt.objects.exists()


def test_a_task_of_the_future_is_cancelled_and_never_due(tenant_a: Tenant) -> None:
    ledger.cancel(put(tenant_a, due_at=at(60)), now=at(1))
    assert ledger.promote(now=at(60)) == ledger.Promotion(0, None, at(60))


def test_a_task_between_two_attempts_is_cancelled(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    say(take(), failing())
    ledger.cancel([task_id], now=at(1))
    assert (task(task_id).state, task(task_id).attempts) == (TaskState.CANCELLED, 1)
    assert take(now=at(1)) == []


def test_a_running_task_is_asked_to_stop_and_runs_until_it_does(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    (claim,) = take()
    assert ledger.cancel([task_id], now=at(1)) == [
        Cancelling(task_id, TaskState.RUNNING, requested=True)
    ]
    assert task(task_id).cancel_requested_at == at(1)
    assert ledger.renew([claim], now=at(2)).cancel_requested == {task_id}


def test_asking_twice_keeps_the_first_instant(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    take()
    ledger.cancel([task_id], now=at(1))
    assert ledger.cancel([task_id], now=at(2))[0].requested
    assert task(task_id).cancel_requested_at == at(1)


@pytest.mark.parametrize(
    ("verdict", "state"),
    [(Succeed(), TaskState.SUCCEEDED), (failing(retry_in=None), TaskState.DEAD)],
    ids=["succeeded", "dead"],
)
def test_a_task_that_is_over_is_left_as_it_is(
    tenant_a: Tenant, verdict: ledger.Verdict, state: TaskState
) -> None:
    (task_id,) = put(tenant_a)
    say(take(), verdict)
    assert ledger.cancel([task_id], now=at(1)) == [Cancelling(task_id, state, requested=False)]
    assert (task(task_id).state, task(task_id).cancel_requested_at) == (state, None)


def test_cancelling_again_changes_nothing(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    ledger.cancel([task_id], now=at(1))
    assert ledger.cancel([task_id], now=at(2)) == [
        Cancelling(task_id, TaskState.CANCELLED, requested=False)
    ]
    assert task(task_id).finished_at == at(1)


def test_a_task_nobody_knows_is_told_so(tenant_a: Tenant) -> None:
    nobody = uuid4()
    assert ledger.cancel([nobody]) == [Cancelling(nobody, None, requested=False)]


def test_a_batch_is_answered_in_its_order(tenant_a: Tenant, tenant_b: Tenant) -> None:
    (running,) = put(tenant_a, priority=1)
    take()
    (waiting,) = put(tenant_b)
    nobody = uuid4()
    batch = [nobody, waiting, running, waiting]
    answers = ledger.cancel(batch, now=at(1))
    assert [one.task_id for one in answers] == batch
    assert [one.state for one in answers] == [
        None,
        TaskState.CANCELLED,
        TaskState.RUNNING,
        TaskState.CANCELLED,
    ]


def test_a_lane_goes_on_with_what_was_not_cancelled(tenant_a: Tenant) -> None:
    first, second, third = put(tenant_a, 3)
    ledger.cancel([first, third], now=START)
    assert [claim.task_id for claim in take(3)] == [second]


def test_a_snoozed_handler_that_was_to_stop_does_not_come_back(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    (claim,) = take()
    ledger.cancel([task_id], now=at(1))
    say(claim, Snooze(NO_DELAY), now=at(2))
    assert task(task_id).state == TaskState.CANCELLED
    assert take(now=at(3)) == []
