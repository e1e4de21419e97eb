"""Owns how recurring tasks, their ticks and the instants of a rule are written in answers."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from scheduling.api.v1.representation import instant
from scheduling.models import RecurringTask, Tick
from scheduling.recurrence import Dst, Instant, InvalidRecurrence, Recurrence
from tenants.authentication import Caller

AS_STORED = (
    "name",
    "task_name",
    "queue",
    "priority",
    "max_attempts",
    "timeout_seconds",
    "deadline_seconds",
    "every_seconds",
    "timezone",
    "jitter_seconds",
    "overlap",
    "catchup",
    "catchup_window_seconds",
    "pause_after_failures",
    "paused",
    "paused_reason",
    "disabled_reason",
    "failures",
    "declared_in_code",
)
INSTANTS = ("anchor", "starts_at", "ends_at", "next_at", "last_at", "created_at")

MOST_SKIPPED = 50
"""In a preview. A rule may have many times that are left out for each that runs, and centuries may lie between these."""


def summary(row: RecurringTask, *, caller: Caller) -> dict[str, Any]:
    """A recurring task as lists show it: without its payload, which may be large."""
    shown = {"id": str(row.pk), "cron": row.cron or None, "in_words": in_words(row)}
    shown |= {field: getattr(row, field) for field in AS_STORED}
    shown |= {field: instant(getattr(row, field)) for field in INSTANTS}
    return shown | {"tenant": row.tenant.slug} if caller.is_operator else shown


def detail(row: RecurringTask, *, caller: Caller) -> dict[str, Any]:
    return summary(row, caller=caller) | {"payload": row.payload}


def in_words(row: RecurringTask) -> str | None:
    """None for a rule that cannot be followed any more; `disabled_reason` tells of it."""
    try:
        return row.recurrence.in_words()
    except InvalidRecurrence:
        return None


def tick(one: Tick) -> dict[str, Any]:
    """`at` is when it was due by the rule; `decided_at` when it was accounted for."""
    return {
        "at": instant(one.at),
        "until": instant(one.until),
        "count": one.count,
        "origin": one.origin,
        "outcome": one.outcome,
        "reason": one.reason,
        "task_id": str(one.task_id) if one.task_id else None,
        "decided_at": instant(one.decided_at),
    }


def preview(rule: Recurrence, after: datetime, count: int) -> dict[str, Any]:
    """The next so many instants of a rule, and those between them that a jump of the clocks keeps from running.

    With MOST_SKIPPED of the latter it ends, with however many of the former.
    """
    runs: list[Instant] = []
    skipped: list[Instant] = []
    for each in rule.after(after, skipped=True):
        (skipped if each.dst is Dst.SKIPPED else runs).append(each)
        if len(runs) == count or len(skipped) == MOST_SKIPPED:
            break
    return {
        "in_words": rule.in_words(),
        "timezone": rule.timezone,
        "instants": written(runs),
        "skipped": written(skipped),
    }


def written(instants: Iterable[Instant]) -> list[dict[str, Any]]:
    return [
        {"at": instant(each.at), "local": each.local.isoformat(), "dst": each.dst or None}
        for each in instants
    ]
