"""What each verdict makes of the task and of its attempt."""

from datetime import timedelta

import pytest

from scheduling import ledger
from scheduling.ledger.values import Fail, Failure, Release, Settlement, Snooze, Stop, Succeed
from scheduling.models import Attempt, Lease, Schedule
from scheduling.states import DeadReason, Outcome, TaskState
from tenants.models import Tenant
from tests.ledger.kit import NO_DELAY, START, at, failing, outcomes, put, say, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

FAILURE = Failure("ValueError", "no luck", "Traceback …")


def attempt_of(claim: ledger.Claim) -> Attempt:
    return Attempt.objects.get(task=claim.task_id, generation=claim.generation)


def test_success_keeps_the_result_and_the_instant(tenant_a: Tenant) -> None:
    put(tenant_a)
    (claim,) = take()
    say(claim, Succeed('{"sent": [1, null, "ü"]}'), now=at(2))
    done = task(claim.task_id)
    assert (done.state, done.result) == (TaskState.SUCCEEDED, {"sent": [1, None, "ü"]})
    assert (done.finished_at, done.attempts, done.error) == (at(2), 1, None)


def test_an_attempt_tells_who_ran_it_and_when(tenant_a: Tenant) -> None:
    put(tenant_a, due_at=at(-5))
    (claim,) = take(now=at(1))
    say(claim, Succeed(), now=at(3))
    told = attempt_of(claim)
    assert (told.worker, told.generation, told.number) == (claim.worker, 1, 1)
    assert (told.due_at, told.started_at, told.finished_at) == (at(-5), at(1), at(3))
    assert (told.outcome, told.error) == (Outcome.SUCCEEDED, None)


def test_a_failure_is_tried_again_when_it_said(tenant_a: Tenant) -> None:
    put(tenant_a, priority=7)
    (claim,) = take()
    settling = say(claim, Fail(FAILURE, timedelta(seconds=8)), now=at(2))
    assert [(one.state, one.due_at) for one in settling.settled] == [(TaskState.QUEUED, at(10))]
    waiting = task(claim.task_id)
    assert (waiting.state, waiting.attempts, waiting.finished_at) == (TaskState.QUEUED, 1, None)
    assert waiting.error == {"class": "ValueError", "message": "no luck"}
    schedule = Schedule.objects.get()
    assert (schedule.due_at, schedule.priority) == (at(10), 7)
    assert attempt_of(claim).error == {
        "class": "ValueError",
        "message": "no luck",
        "traceback": "Traceback …",
    }
    assert take(now=at(9.9)) == []
    (again,) = take(now=at(10))
    assert (again.generation, again.attempt, again.due_at) == (2, 2, at(10))


def test_success_after_failures_keeps_what_went_wrong_before(tenant_a: Tenant) -> None:
    put(tenant_a)
    say(take(), failing())
    (claim,) = take()
    say(claim, Succeed())
    assert task(claim.task_id).error == {"class": "ValueError", "message": "no luck"}
    assert task(claim.task_id).attempts == 2
    assert outcomes(claim.task_id) == ["failed", "succeeded"]


def test_the_last_failure_of_the_allowance_is_the_end(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=3)
    for _ in range(3):
        say(take(), failing())
    dead = task(task_id)
    assert (dead.state, dead.dead_reason) == (TaskState.DEAD, DeadReason.ATTEMPTS_EXHAUSTED)
    assert (dead.attempts, dead.generation, dead.finished_at) == (3, 3, START)
    assert take() == []


def test_a_handler_nobody_knows_is_tried_again_and_dead_by_that_name(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=2)
    unknown = Fail(FAILURE, NO_DELAY, unknown_handler=True)
    say(take(), unknown)
    assert task(task_id).state == TaskState.QUEUED
    say(take(), unknown)
    assert task(task_id).dead_reason == DeadReason.UNKNOWN_HANDLER


def test_a_permanent_failure_is_the_end_at_once(tenant_a: Tenant) -> None:
    put(tenant_a, max_attempts=5)
    (claim,) = take()
    say(claim, Fail(FAILURE, retry_in=None))
    dead = task(claim.task_id)
    assert (dead.state, dead.dead_reason) == (TaskState.DEAD, DeadReason.PERMANENT_FAILURE)
    assert (dead.attempts, outcomes(claim.task_id)) == (1, ["failed"])
    assert attempt_of(claim).error["traceback"] == FAILURE.traceback


@pytest.mark.parametrize("max_attempts", [1, 3])
def test_fifty_snoozes_cost_no_attempt(tenant_a: Tenant, max_attempts: int) -> None:
    (task_id,) = put(tenant_a, max_attempts=max_attempts)
    for second in range(50):
        (claim,) = take(now=at(second))
        assert claim.attempt == 1
        say(claim, Snooze(timedelta(seconds=1)), now=at(second))
    (claim,) = take(now=at(50))
    assert (claim.attempt, claim.generation) == (1, 51)
    say(claim, failing(), now=at(50))
    assert task(task_id).attempts == 1
    assert attempt_of(claim).number == 1
    assert outcomes(task_id) == ["snoozed"] * 50 + ["failed"]


def test_a_snoozed_task_comes_back_when_it_said(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    say(take(), Snooze(timedelta(seconds=30)), now=at(5))
    assert Schedule.objects.get(pk=task_id).due_at == at(35)
    assert take(now=at(34)) == []
    assert len(take(now=at(35))) == 1


def test_a_released_task_is_due_at_once_and_not_charged(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=1)
    say(take(), Release(), now=at(5))
    assert (task(task_id).attempts, task(task_id).state) == (0, TaskState.QUEUED)
    (again,) = take(now=at(5))
    assert (again.attempt, again.generation) == (1, 2)
    assert outcomes(task_id) == ["released"]


# After somebody asked to cancel


@pytest.mark.parametrize(
    ("verdict", "state", "outcome"),
    [
        (Succeed(), TaskState.SUCCEEDED, Outcome.SUCCEEDED),
        (Stop(), TaskState.CANCELLED, Outcome.CANCELLED),
        (failing(), TaskState.CANCELLED, Outcome.FAILED),
        (failing(retry_in=None), TaskState.CANCELLED, Outcome.FAILED),
        (Snooze(timedelta(seconds=5)), TaskState.CANCELLED, Outcome.SNOOZED),
        (Release(), TaskState.CANCELLED, Outcome.RELEASED),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_task_that_was_to_be_cancelled_is_not_run_again(
    tenant_a: Tenant, verdict: ledger.Verdict, state: TaskState, outcome: Outcome
) -> None:
    (task_id,) = put(tenant_a)
    (claim,) = take()
    ledger.cancel([task_id], now=at(1))
    say(claim, verdict, now=at(2))
    over = task(task_id)
    assert (over.state, over.finished_at, over.dead_reason) == (state, at(2), None)
    assert outcomes(task_id) == [outcome]
    assert [bool(error) for error in (over.error, attempt_of(claim).error)] == (
        [outcome is Outcome.FAILED] * 2
    )
    assert not Schedule.objects.exists()


def test_a_lost_worker_does_not_bring_a_cancelled_task_back(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    take()
    ledger.cancel([task_id], now=at(1))
    ledger.reap(ledger.held_leases(), now=at(11))
    assert (task(task_id).state, outcomes(task_id)) == (TaskState.CANCELLED, ["lost"])


# Before a deadline


@pytest.mark.parametrize(
    "verdict",
    [failing(retry_in=timedelta(seconds=10)), Snooze(timedelta(seconds=10))],
    ids=["failure", "snooze"],
)
def test_what_would_come_back_at_its_deadline_is_dead_now(
    tenant_a: Tenant, verdict: ledger.Verdict
) -> None:
    (task_id,) = put(tenant_a, deadline=at(12))
    say(take(), verdict, now=at(2))
    late = task(task_id)
    assert (late.state, late.dead_reason) == (TaskState.DEAD, DeadReason.DEADLINE_PASSED)
    assert late.finished_at == at(2)


def test_what_comes_back_before_its_deadline_runs_again(tenant_a: Tenant) -> None:
    put(tenant_a, deadline=at(12))
    say(take(), failing(retry_in=timedelta(seconds=10)), now=at(1.9))
    assert len(take(now=at(11.9))) == 1


def test_a_release_after_the_deadline_is_the_end(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, deadline=at(5))
    say(take(), Release(), now=at(5))
    assert task(task_id).dead_reason == DeadReason.DEADLINE_PASSED


def test_a_success_after_the_deadline_is_a_success(tenant_a: Tenant) -> None:
    """The worker times handlers out at the deadline; what got through all the same was done."""
    (task_id,) = put(tenant_a, deadline=at(5))
    say(take(), Succeed(), now=at(6))
    assert task(task_id).state == TaskState.SUCCEEDED


def test_the_last_failure_after_the_deadline_tells_of_the_attempts(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, deadline=at(5), max_attempts=1)
    say(take(), failing(), now=at(6))
    assert task(task_id).dead_reason == DeadReason.ATTEMPTS_EXHAUSTED


# Batches


def test_each_of_a_batch_gets_its_own_verdict(tenant_a: Tenant, tenant_b: Tenant) -> None:
    ids = [*put(tenant_a, 3), *put(tenant_b, 3)]
    claims = {claim.task_id: claim for claim in take(6)}
    verdicts: list[ledger.Verdict] = [
        Succeed('"all of it"'),
        failing(),
        failing(retry_in=None),
        Snooze(NO_DELAY),
        Release(),
        Stop(),
    ]
    said = [
        Settlement(claims[task_id], verdict) for task_id, verdict in zip(ids, verdicts, strict=True)
    ]
    settling = ledger.settle(said, now=at(1))
    assert {one.task_id for one in settling.settled} == set(ids)
    assert [task(task_id).state for task_id in ids] == [
        TaskState.SUCCEEDED,
        TaskState.QUEUED,
        TaskState.DEAD,
        TaskState.QUEUED,
        TaskState.QUEUED,
        TaskState.CANCELLED,
    ]
    assert [task(task_id).result for task_id in ids] == ["all of it", *[None] * 5]
    assert not Lease.objects.exists()


def test_a_remote_worker_is_told_as_of_when_it_spoke(tenant_a: Tenant) -> None:
    put(tenant_a)
    (claim,) = take()
    said = {(claim.task_id, claim.generation): failing()}
    assert len(ledger.settle_remotely(claim.worker, said, now=at(2)).settled) == 1
    assert attempt_of(claim).finished_at == at(2)


def test_nothing_is_a_batch_too(tenant_a: Tenant) -> None:
    assert ledger.settle([]) == ledger.Settling([], [])
