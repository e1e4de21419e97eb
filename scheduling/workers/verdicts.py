"""What is said of a claim, given what its handler returned or raised. No database, no threads."""

import logging
import traceback
from datetime import timedelta
from types import TracebackType
from typing import Any

from scheduling import payload, retry, returned
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.errors import (
    InvalidTask,
    PermanentFailure,
    RetryAfter,
    Snoozed,
    TaskTimeout,
    UnknownHandler,
    not_negative,
)
from scheduling.ledger.values import Claim, Fail, Failure, Snooze, Succeed, Verdict

logger = logging.getLogger(__name__)

CLASS_LIMIT = 500
MESSAGE_LIMIT = 4 * 1024
TRACEBACK_LIMIT = 32 * 1024


def of_result(result: Any) -> Verdict:
    """Success, or a failure for good if the result cannot be kept: the handler's work is done, not undone."""
    try:
        return Succeed(returned.as_json(result))
    except InvalidTask as error:
        return Fail(described(error), retry_in=None)


def of_error(claim: Claim, task: LedgerTask, error: BaseException) -> Verdict:
    """An ordinary failed attempt, whatever was raised, unless the handler chose its words."""
    match error:
        case Snoozed():
            return Snooze(error.delay)
        case PermanentFailure():
            return Fail(described(error), retry_in=None)
        case RetryAfter():
            return Fail(described(error), retry_in=error.delay)
        case _:
            return Fail(described(error), retry_in=backoff(task, claim.attempt))


def of_unknown_handler(claim: Claim, error: UnknownHandler | InvalidTask) -> Verdict:
    """Another worker may run newer or older code that knows it, so it is tried again."""
    return Fail(described(error), retry_in=retry.backoff(claim.attempt), unknown_handler=True)


def of_corrupt_arguments(error: ValueError) -> Verdict:
    return Fail(described(error), retry_in=None)


def of_endless(claim: Claim) -> Verdict:
    """Its time is up and it cannot be stopped. The task's own backoff is not asked: no time to run more code."""
    return Fail(described(TaskTimeout()), retry_in=retry.backoff(claim.attempt))


def of_lost_lease(claim: Claim) -> Verdict:
    """Whatever the handler said: somebody else may be at it, so this attempt counts as no more than failed."""
    message = "The worker could not renew its lease in time; what the handler did is not counted."
    return Fail(
        Failure("scheduling.errors.StaleLease", message),
        retry_in=retry.backoff(claim.attempt, base=retry.LOST_BASE),
    )


def backoff(task: LedgerTask, attempt: int) -> timedelta:
    """The task's own, or ours: also when its own raises or answers with something that is no delay."""
    if task.backoff is None:
        return retry.backoff(attempt)
    try:
        return not_negative(task.backoff(attempt))
    except BaseException as error:  # noqa: BLE001  # any code may stand there, and the failure must be settled
        logger.error(
            "The backoff of %s did not answer (%s); using the default.",
            task.ledger_name,
            class_and_place(error),
        )
        return retry.backoff(attempt)


def described(error: BaseException) -> Failure:
    lines = traceback.format_exception(type(error), error, handlers_part(error.__traceback__))
    return Failure(
        class_of(error),
        clean_message(error),
        payload.clean_text("".join(lines), TRACEBACK_LIMIT),
    )


def class_of(error: BaseException) -> str:
    return payload.clean_text(f"{type(error).__module__}.{type(error).__qualname__}", CLASS_LIMIT)


def class_and_place(error: BaseException) -> str:
    """For the log, of what handlers raise: neither the text nor a traceback, which may quote the payload.

    Nor that of the exception it came after: a traceback would tell that one's text as well.
    """
    frames = handlers_part(error.__traceback__)
    place = f" at {frames.tb_frame.f_code.co_filename}:{frames.tb_lineno}" if frames else ""
    return f"{class_of(error)}{place}"


def clean_message(error: BaseException) -> str:
    try:
        message = str(error)
    except BaseException as nested:  # noqa: BLE001  # __str__ of a handler's exception is the handler's code
        message = f"(its text cannot be had: {type(nested).__name__})"
    return payload.clean_text(message, MESSAGE_LIMIT)


def handlers_part(frames: TracebackType | None) -> TracebackType | None:
    """Without the frames of ours that led to the handler."""
    while frames and frames.tb_frame.f_globals.get("__name__", "").startswith(__package__):
        frames = frames.tb_next
    return frames
