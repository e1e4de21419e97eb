"""Whether a recurring task can be kept as it is asked for: the one validation behind creating and editing."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any

from scheduling import options, payload
from scheduling.errors import InvalidTask
from scheduling.models import RecurringTask
from scheduling.policies import Catchup, Overlap
from scheduling.recurrence import LONGEST_INTERVAL, InvalidRecurrence, Recurrence

FURTHEST_SECONDS = 366 * 24 * 3600
"""For windows and jitter: a year."""
FAILURES_MAX = 1000

RULE = frozenset({"cron", "every_seconds", "anchor", "timezone", "starts_at", "ends_at"})
TIMING = RULE | {"jitter_seconds"}
"""What says when ticks come."""
EDITABLE = TIMING | {
    "name", "task_name", "payload", "queue", "priority", "max_attempts", "timeout_seconds",
    "deadline_seconds", "overlap", "catchup", "catchup_window_seconds", "pause_after_failures",
}  # fmt: skip


FaultOf = Callable[[object], str | None]


def whole_number(least: int, most: int) -> FaultOf:
    return partial(options.integer_fault, least=least, most=most)


def one_of(words: type[StrEnum]) -> FaultOf:
    known = [member.value for member in words]
    return lambda value: None if value in known else f"must be one of {', '.join(known)}"


def text_fault(value: object) -> str | None:
    return None if isinstance(value, str) else "must be text"


def object_fault(value: object) -> str | None:
    return None if isinstance(value, dict) else "must be an object"


RULES: Mapping[str, FaultOf] = {
    "name": options.name_fault,
    "task_name": options.name_fault,
    "payload": object_fault,
    "queue": options.queue_fault,
    "priority": options.priority_fault,
    "max_attempts": options.max_attempts_fault,
    "timezone": text_fault,
    "jitter_seconds": whole_number(0, FURTHEST_SECONDS),
    "overlap": one_of(Overlap),
    "catchup": one_of(Catchup),
    "catchup_window_seconds": whole_number(0, FURTHEST_SECONDS),
}
MAY_BE_NONE: Mapping[str, FaultOf] = {
    "cron": text_fault,
    "every_seconds": whole_number(1, int(LONGEST_INTERVAL.total_seconds())),
    "timeout_seconds": options.timeout_seconds_fault,
    "deadline_seconds": partial(options.seconds_fault, most=FURTHEST_SECONDS),
    "pause_after_failures": whole_number(1, FAILURES_MAX),
}


def check_recurring(values: Mapping[str, Any]) -> None:
    """Return if a recurring task could be kept as it is asked for; its tenant aside. Raises InvalidTask."""
    fill(RecurringTask(), values)


def fill(row: RecurringTask, values: Mapping[str, Any]) -> None:
    """Put values into a row, tidied. Raises InvalidTask naming every field at fault, unknown ones as well.

    A new cron expression takes the place of an interval, and the other way round. After an error the row may hold
    some of the values: it is not to be saved.
    """
    faults = dict.fromkeys(sorted(values.keys() - EDITABLE), "is not a field of a recurring task")
    faults |= _faults(values)
    for field in EDITABLE & values.keys():
        setattr(row, field, values[field])
    if RULE.isdisjoint(faults):
        _choose_one_rule(row, values)
        try:
            _tidy(row, row.recurrence)
        except InvalidRecurrence as error:
            faults[error.field] = error.message
    if faults:
        raise InvalidTask(faults)


def faults_of_its_end(row: RecurringTask, now: datetime) -> dict[str, str]:
    """What is wrong with a new one, filled, that is over already. Later on every end is past, and nothing is wrong with it."""
    if row.ends_at is None or row.recurrence.first(now):
        return {}
    return {"ends_at": "leaves the rule no instant from now on"}


def _faults(values: Mapping[str, Any]) -> dict[str, str]:
    faults = {
        field: fault
        for field, rule in {**RULES, **MAY_BE_NONE}.items()
        if field in values
        and not (values[field] is None and field in MAY_BE_NONE)
        and (fault := rule(values[field]))
    }
    if isinstance(values.get("payload"), dict):
        try:
            payload.check(values["payload"])
        except InvalidTask as error:
            faults |= error.errors
    return faults


def _choose_one_rule(row: RecurringTask, values: Mapping[str, Any]) -> None:
    row.cron = row.cron or ""
    if values.get("cron") and "every_seconds" not in values:
        row.every_seconds = None
    elif values.get("every_seconds") and "cron" not in values:
        row.cron = ""
    if row.every_seconds is None and "anchor" not in values:
        row.anchor = None


def _tidy(row: RecurringTask, rule: Recurrence) -> None:
    """As the rule spells itself."""
    row.cron, row.timezone = rule.cron or "", rule.timezone
    row.anchor, row.starts_at, row.ends_at = rule.anchor, rule.starts_at, rule.ends_at
