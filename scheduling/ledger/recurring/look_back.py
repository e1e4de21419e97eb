"""What became of the tasks that earlier ticks made: looked up when it matters, so that settling costs nothing more."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from scheduling.ledger.recurring import waiting
from scheduling.models import RecurringTask, Tick
from scheduling.policies import Overlap
from scheduling.states import TERMINAL, UNFINISHED, TaskState

MOST = 1000
"""Ticks that are closed in one look."""
GOES_ON = Q(task__state__in=UNFINISHED, task__redriven_from__isnull=True)
"""The task of a tick waits or runs. But a redriven one is its operator's, and dead to its tick."""


def unfinished() -> QuerySet[Tick]:
    """Ticks that others wait for."""
    return Tick.objects.open().filter(GOES_ON)


def tick_of(task_id: UUID) -> datetime | None:
    """The nominal instant of the tick that made a task; None when none did, or it was pruned."""
    return Tick.objects.filter(task=task_id).values_list("at", flat=True).first()


def look_back(rows: Sequence[RecurringTask], now: datetime) -> None:
    """Close ticks whose tasks are over, and count failures on their rows, which the caller holds and saves.

    A row that has failed as often as it may is paused by that, and what waits of it is missed. A task that is gone
    was pruned or discarded, and counts for nothing; one that was redriven since is dead to its tick, however it ends.
    """
    by_id = {row.pk: row for row in rows}
    is_over = (
        Q(task__state__in=list(TERMINAL))
        | Q(task__state__isnull=True)
        | Q(task__redriven_from__isnull=False)
    )
    over = list(
        Tick.objects.open()
        .filter(is_over, recurring__in=rows)
        .order_by("at")
        .values_list("pk", "recurring_id", "task__state", "task__redriven_from")[:MOST]
    )
    if not over:
        return
    Tick.objects.filter(pk__in=[pk for pk, *_ in over]).update(is_open=False)
    for _, recurring_id, state, redriven_from in over:
        _count(by_id[recurring_id], state if redriven_from is None else TaskState.DEAD)
    failing = [row for row in rows if not row.paused and _has_failed_too_often(row)]
    for row in failing:
        _pause(row)
    waiting.miss([row.pk for row in failing], "It was paused while this waited.", now)


def _count(row: RecurringTask, state: str | None) -> None:
    if state == TaskState.SUCCEEDED:
        row.failures = 0
    elif state == TaskState.DEAD:
        row.failures += 1


def _has_failed_too_often(row: RecurringTask) -> bool:
    return row.pause_after_failures is not None and row.failures >= row.pause_after_failures


def _pause(row: RecurringTask) -> None:
    row.paused, row.fires_at = True, None
    row.paused_reason = f"{row.failures} of its tasks in a row are dead."
    row.version += 1


def may_overlap(row: RecurringTask) -> bool:
    """A policy that nobody knows is none that allows it, here: its row is disabled by itself, and no other suffers."""
    return row.overlap == Overlap.ALLOW


def busy_among(rows: Sequence[RecurringTask]) -> set[object]:
    """The ids of those that have a task which waits or runs. Those whose ticks may overlap are not asked about."""
    guarded = [row for row in rows if not may_overlap(row)]
    if not guarded:
        return set()
    busy = unfinished().filter(recurring__in=guarded)
    return set(busy.order_by().values_list("recurring_id", flat=True).distinct())


def waiting_among(rows: Sequence[RecurringTask]) -> set[object]:
    """The ids of those that have a tick of the rule which waits."""
    guarded = [row.pk for row in rows if not may_overlap(row)]
    if not guarded:
        return set()
    ticks = waiting.of_the_rule(guarded).order_by()
    return set(ticks.values_list("recurring_id", flat=True).distinct())
