"""Tells those who listen in this process that a handler starts and ends: the task framework's signals, and a log.

The framework listens to its own signals, to log every start and every end. Worker processes do without:
a result for each signal takes longer to build than many a task takes to run.
"""

import json
import logging
from dataclasses import replace
from typing import assert_never

from scheduling import clock
from scheduling.compat import (
    TaskError,
    TaskResult,
    TaskResultStatus,
    log_task_finished,
    log_task_started,
    task_finished,
    task_started,
)
from scheduling.context import Context
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.ledger.values import (
    Claim,
    Fail,
    Lose,
    Release,
    Snooze,
    Stop,
    Succeed,
    Verdict,
)

logger = logging.getLogger(__name__)


def without_the_framework() -> None:
    """Once per worker process: leave it to others to listen."""
    task_started.disconnect(log_task_started)
    task_finished.disconnect(log_task_finished)


def started(task: LedgerTask, context: Context) -> None:
    """Send `task_started`. What a receiver raises is logged, and does not reach the handler."""
    if task_started.receivers:
        sender = type(task.get_backend())
        task_started.send_robust(sender, task_result=context.task_result)


def finished(task: LedgerTask, context: Context, claim: Claim, verdict: Verdict) -> None:
    """Log it, and send `task_finished`, while what a handler raised can be had from `sys.exc_info`."""
    log(claim, verdict)
    if task_finished.receivers:
        sender = type(task.get_backend())
        task_finished.send_robust(sender, task_result=result(context, claim, verdict))


def log(claim: Claim, verdict: Verdict) -> None:
    """An attempt that did not end well: a line, also when there was no handler for it."""
    if isinstance(verdict, Fail):
        logger.info(
            "%s %s failed on attempt %d of %d%s: %s",  # what it says may hold a part of the payload
            claim.name, claim.task_id, claim.attempt, claim.max_attempts,
            ", for good" if verdict.retry_in is None else "", verdict.failure.cls,
        )  # fmt: skip
    elif isinstance(verdict, Release):
        logger.info(
            "%s %s was handed back before its handler ended; attempt %d of %d is not counted.",
            claim.name, claim.task_id, claim.attempt, claim.max_attempts,
        )  # fmt: skip


def result(context: Context, claim: Claim, verdict: Verdict) -> TaskResult:
    """As far as it is known before the ledger was told."""
    told: TaskResult = replace(
        context.task_result, status=status(claim, verdict), finished_at=clock.now()
    )
    if isinstance(verdict, Fail):
        failure = verdict.failure
        told.errors.append(TaskError(exception_class_path=failure.cls, traceback=failure.traceback))
    if isinstance(verdict, Succeed):
        object.__setattr__(told, "_return_value", json.loads(verdict.result_json))
    return told


def status(claim: Claim, verdict: Verdict) -> TaskResultStatus:
    """A task that will be tried again is ready, not failed."""
    match verdict:
        case Succeed():
            return TaskResultStatus.SUCCESSFUL
        case Fail(_, None) | Stop():
            return TaskResultStatus.FAILED
        case Fail() | Lose():
            is_last = claim.attempt >= claim.max_attempts
            return TaskResultStatus.FAILED if is_last else TaskResultStatus.READY
        case Snooze() | Release():
            return TaskResultStatus.READY
        case _:
            assert_never(verdict)
