"""Instants as clients write them (RFC 3339), and which of them make sense for a task. Pure."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from scheduling.errors import InvalidTask

FURTHEST = timedelta(days=5 * 366)
"""Further ahead than this is a slip of the pen, not a plan."""
LATE_BY_MOST = timedelta(hours=1)
"""An instant a little in the past has just been missed, and means "now"; an older one is a mistake."""

_RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def parse_instant(text: str, field: str = "due_at") -> datetime:
    """The instant, in UTC. Raises InvalidTask for anything but a full RFC 3339 date and time with a zone."""
    if not _RFC_3339.fullmatch(text):
        raise InvalidTask(
            {field: "must be a date and time with a zone, such as 2027-03-28T02:30:00Z (RFC 3339)"}
        )
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidTask({field: "names an instant that does not exist"}) from error


@dataclass(frozen=True, slots=True)
class Timing:
    """When a task is due (None: at once) and after when it is not worth starting (None: it always is)."""

    due_at: datetime | None = None
    deadline: datetime | None = None


def timing(
    *,
    now: datetime,
    due_at: datetime | str | None = None,
    delay_seconds: float | None = None,
    deadline: datetime | timedelta | str | None = None,
) -> Timing:
    """When a new task is to run. A timedelta as deadline counts from now. Raises InvalidTask."""
    if delay_seconds is not None:
        if due_at is not None:
            raise InvalidTask({"delay_seconds": "cannot be given together with due_at"})
        due_at = now + _delay(delay_seconds)
    if isinstance(deadline, timedelta):
        deadline = now + deadline
    due = _within_reach(due_at, now, "due_at")
    end = _within_reach(deadline, now, "deadline")
    if end and end <= (due or now):
        raise InvalidTask({"deadline": "passes before the task is due"})
    return Timing(due if due and due > now else None, end)


def _within_reach(instant: object, now: datetime, field: str) -> datetime | None:
    if isinstance(instant, str):
        instant = parse_instant(instant, field)
    if instant is None:
        return None
    if not isinstance(instant, datetime) or instant.tzinfo is None:
        raise InvalidTask({field: "must be a date and time with a zone"})
    if instant > now + FURTHEST:
        raise InvalidTask({field: "is more than five years ahead"})
    if instant < now - LATE_BY_MOST:
        raise InvalidTask({field: "lies in the past"})
    return instant.astimezone(UTC)


def _delay(seconds: object) -> timedelta:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidTask({"delay_seconds": "must be a number of seconds"})
    if not 0 <= seconds <= FURTHEST.total_seconds():  # also refuses NaN
        raise InvalidTask({"delay_seconds": f"must be from 0 to {FURTHEST.total_seconds():.0f}"})
    return timedelta(seconds=seconds)
