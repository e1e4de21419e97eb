"""From what a caller asks for to a task the ledger takes: the one validation behind every entrance."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack

from scheduling import clock, options, payload
from scheduling.declaring import registry
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.errors import InvalidTask
from scheduling.instants import Timing, timing
from scheduling.ledger.values import NewTask

AT_ONCE = Timing()
INSTANTS = frozenset({"due_at", "delay_seconds", "deadline"})


class Asked(TypedDict, total=False):
    """What may be asked of one task. None stands for what is not."""

    queue: str | None
    priority: int | None
    due_at: datetime | str | None
    delay_seconds: float | None
    max_attempts: int | None
    timeout_seconds: float | None
    deadline: datetime | str | None
    idempotency_key: str | None
    label: str | None


def new_task(
    task: LedgerTask,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    tenant_id: int,
    trace_context: str | None = None,
    now: datetime | None = None,
    **asked: Unpack[Asked],
) -> NewTask:
    """The task to be accepted. What is not asked for is as the task was declared.

    The options may be just what a client sent: types are checked as well as ranges. A `due_at` up to an
    hour past means at once. Raises InvalidTask with all that is wrong, under the API's field names.
    """
    given: dict[str, Any] = {field: value for field, value in asked.items() if value is not None}
    when = _validated(task, args, kwargs, given, now)
    args_json = payload.encode(args)
    kwargs_json = payload.encode(kwargs) if kwargs else "{}"
    key = given.get("idempotency_key", task.idempotency_key)
    return NewTask(
        tenant_id=tenant_id,
        name=task.ledger_name,
        queue=given.get("queue", task.queue_name),
        args_json=args_json,
        kwargs_json=kwargs_json,
        priority=given.get("priority", task.priority),
        due_at=when.due_at,
        max_attempts=given.get("max_attempts", task.max_attempts),
        timeout_seconds=given.get("timeout_seconds", task.timeout_seconds),
        deadline=when.deadline,
        idempotency_key=key,
        fingerprint=key
        and payload.fingerprint(
            task.ledger_name,
            payload.in_order(args, args_json),
            payload.in_order(kwargs, kwargs_json),
            _in_words(given) if given else "",
        ),
        trace_context=trace_context,
        label=given.get("label", task.label),
    )


def _validated(
    task: LedgerTask,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    given: Mapping[str, Any],
    now: datetime | None,
) -> Timing:
    """When it is to run. Raises InvalidTask with all that is wrong."""
    faults = _payload_faults(task, args, kwargs)
    if given:
        faults |= options.faults(**{f: one for f, one in given.items() if f not in INSTANTS})
    try:
        when = _timing(task, given, now)
    except InvalidTask as error:
        raise InvalidTask(faults | error.errors) from None
    if faults:
        raise InvalidTask(faults)
    return when


def _payload_faults(
    task: LedgerTask, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, str]:
    try:
        for given in (args, kwargs):
            if given:
                payload.check(given)
        registry.bind(task, args, kwargs)
    except InvalidTask as error:
        return error.errors
    return {}


def _timing(task: LedgerTask, given: Mapping[str, Any], now: datetime | None) -> Timing:
    due_at, delay_seconds = given.get("due_at"), given.get("delay_seconds")
    if due_at is None and delay_seconds is None:
        due_at = task.run_after
    deadline = given.get("deadline") or task.deadline
    if due_at is None and delay_seconds is None and deadline is None:
        return AT_ONCE
    return timing(
        now=now or clock.now(), due_at=due_at, delay_seconds=delay_seconds, deadline=deadline
    )


def _in_words(given: Mapping[str, Any]) -> str:
    """What was asked, not what it came to: a delay is the same delay when the request is repeated."""
    told = {
        field: value.isoformat() if isinstance(value, datetime) else value
        for field, value in given.items()
    }
    return payload.in_order(told, payload.encode(told))
