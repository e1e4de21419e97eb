"""From what a worker says to what becomes of the task. Pure."""

import json
from datetime import datetime, timedelta
from typing import assert_never

from scheduling.ledger.dialects import Ending, LeaseEnded, Standing
from scheduling.ledger.values import (
    Fail,
    Failure,
    Lose,
    Release,
    Snooze,
    Stop,
    Succeed,
    Verdict,
)
from scheduling.states import DeadReason, Outcome, TaskState


def decide(lease: LeaseEnded, verdict: Verdict, task: Standing, now: datetime) -> Ending:
    """What one end writes.

    A task whose cancellation was requested is not run again, nor made a dead letter. Nothing is run again
    after its deadline, or with its allowance used up: it becomes a dead letter, with the reason.
    """
    outcome = verdict.outcome
    match verdict:
        case Succeed(result_json):
            return _over(lease, task, outcome, TaskState.SUCCEEDED, result_json=result_json)
        case Stop():
            return _cancelled(lease, task, outcome)
        case Fail(failure, retry_in, unknown_handler):
            last = DeadReason.UNKNOWN_HANDLER if unknown_handler else DeadReason.ATTEMPTS_EXHAUSTED
            if retry_in is None:
                return _dead(lease, task, outcome, DeadReason.PERMANENT_FAILURE, failure)
            return _again(lease, task, outcome, now, retry_in, failure, last)
        case Lose(retry_in, note):
            failure = Failure("WorkerLost", note)
            return _again(lease, task, outcome, now, retry_in, failure, DeadReason.WORKER_LOST)
        case Snooze(delay):
            return _again(lease, task, outcome, now, delay)
        case Release():
            return _again(lease, task, outcome, now, timedelta(0))
        case _:
            assert_never(verdict)


def _again(
    lease: LeaseEnded,
    task: Standing,
    outcome: Outcome,
    now: datetime,
    delay: timedelta,
    failure: Failure | None = None,
    last: DeadReason = DeadReason.ATTEMPTS_EXHAUSTED,
) -> Ending:
    """Queued once more, if it may be."""
    due_at = now + delay
    if task.cancel_requested:
        return _cancelled(lease, task, outcome, failure)
    if outcome.is_charged and task.attempts + 1 >= task.max_attempts:
        return _dead(lease, task, outcome, last, failure)
    if task.deadline is not None and due_at >= task.deadline:
        return _dead(lease, task, outcome, DeadReason.DEADLINE_PASSED, failure)
    return Ending(
        lease=lease,
        outcome=outcome,
        state=TaskState.QUEUED,
        number=task.attempts + 1,
        attempts=task.attempts + outcome.is_charged,
        priority=task.priority,
        due_at=due_at,
        error_json=_summary(failure),
        failure_json=_whole(failure),
    )


def _dead(
    lease: LeaseEnded, task: Standing, outcome: Outcome, reason: DeadReason, failure: Failure | None
) -> Ending:
    """A dead letter asks somebody to decide; about a task that was to be cancelled, somebody has."""
    if task.cancel_requested:
        return _cancelled(lease, task, outcome, failure)
    return _over(lease, task, outcome, TaskState.DEAD, failure=failure, dead_reason=reason.value)


def _cancelled(
    lease: LeaseEnded, task: Standing, outcome: Outcome, failure: Failure | None = None
) -> Ending:
    return _over(lease, task, outcome, TaskState.CANCELLED, failure=failure)


def _over(
    lease: LeaseEnded,
    task: Standing,
    outcome: Outcome,
    state: TaskState,
    *,
    result_json: str | None = None,
    failure: Failure | None = None,
    dead_reason: str | None = None,
) -> Ending:
    return Ending(
        lease=lease,
        outcome=outcome,
        state=state,
        number=task.attempts + 1,
        attempts=task.attempts + outcome.is_charged,
        dead_reason=dead_reason,
        result_json=result_json,
        error_json=_summary(failure),
        failure_json=_whole(failure),
    )


def _summary(failure: Failure | None) -> str | None:
    if failure is None:
        return None
    return json.dumps({"class": failure.cls, "message": failure.message})


def _whole(failure: Failure | None) -> str | None:
    if failure is None:
        return None
    return json.dumps(
        {"class": failure.cls, "message": failure.message, "traceback": failure.traceback}
    )
