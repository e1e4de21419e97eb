"""From what a caller asks for to a task the ledger takes: the one validation behind every entrance."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from scheduling import clock, options, payload, registry
from scheduling.errors import InvalidTask
from scheduling.instants import Timing, parse_instant, timing
from scheduling.ledger.values import NewTask
from scheduling.ledger_task import LedgerTask

__all__ = ["new_task", "parse_instant"]


def new_task(
    task: LedgerTask,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    tenant_id: int,
    queue: str | None = None,
    priority: int | None = None,
    due_at: datetime | str | None = None,
    delay_seconds: float | None = None,
    max_attempts: int | None = None,
    timeout_seconds: float | None = None,
    deadline: datetime | str | None = None,
    idempotency_key: str | None = None,
    trace_context: str | None = None,
    now: datetime | None = None,
) -> NewTask:
    """The task to be accepted. What is None is as the task was declared.

    The options may be just what a client sent: types are checked as well as ranges. A `due_at` up to an
    hour past means at once. Raises InvalidTask with all that is wrong, under the API's field names.
    """
    asked: dict[str, Any] = {
        "queue": queue,
        "priority": priority,
        "max_attempts": max_attempts,
        "timeout_seconds": timeout_seconds,
        "idempotency_key": idempotency_key,
    }
    asked_when: dict[str, Any] = {
        "due_at": due_at,
        "delay_seconds": delay_seconds,
        "deadline": deadline,
    }
    faults = options.faults(**asked) | _payload_faults(task, args, kwargs)
    try:
        when = _timing(task, now, **asked_when)
    except InvalidTask as error:
        raise InvalidTask(faults | error.errors) from None
    if faults:
        raise InvalidTask(faults)
    key = idempotency_key or task.idempotency_key
    return NewTask(
        tenant_id=tenant_id,
        name=task.ledger_name,
        queue=queue or task.queue_name,
        args=args,
        kwargs=kwargs,
        priority=task.priority if priority is None else priority,
        due_at=when.due_at,
        max_attempts=max_attempts or task.max_attempts,
        timeout_seconds=timeout_seconds or task.timeout_seconds,
        deadline=when.deadline,
        idempotency_key=key,
        fingerprint=_fingerprint(task, args, kwargs, asked | asked_when) if key else None,
        trace_context=trace_context,
    )


def _payload_faults(
    task: LedgerTask, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, str]:
    try:
        payload.check(args)
        payload.check(kwargs)
        registry.bind(task, args, kwargs)
    except InvalidTask as error:
        return error.errors
    return {}


def _timing(
    task: LedgerTask,
    now: datetime | None,
    *,
    due_at: datetime | str | None,
    delay_seconds: float | None,
    deadline: datetime | str | None,
) -> Timing:
    if due_at is None and delay_seconds is None:
        due_at = task.run_after
    last = deadline or task.deadline
    if due_at is None and delay_seconds is None and last is None:
        return Timing()
    return timing(now=now or clock.now(), due_at=due_at, delay_seconds=delay_seconds, deadline=last)


def _fingerprint(
    task: LedgerTask, args: Sequence[Any], kwargs: Mapping[str, Any], asked: Mapping[str, Any]
) -> str:
    """Of what was asked, not of what it came to: a delay is the same delay when the request is repeated."""
    given = {
        field: value.isoformat() if isinstance(value, datetime) else value
        for field, value in asked.items()
        if value is not None
    }
    return payload.fingerprint([task.ledger_name, args, kwargs, given])
