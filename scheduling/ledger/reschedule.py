"""Rescheduling: what waits is due at another instant, or in another order."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from scheduling.ledger import wake
from scheduling.ledger.dialects import dialect
from scheduling.models import Schedule, Task
from scheduling.states import Readiness


def reschedule(
    task_ids: Sequence[UUID],
    *,
    due_at: datetime | None = None,
    priority: int | None = None,
    now: datetime | None = None,
) -> set[UUID]:
    """Change when waiting tasks are due, their priority, or both; answers which. None keeps what stands.

    One transaction. An instant that has passed means now, and a task that is due already keeps its place
    then. What runs or is over is left alone, and so is a task whose deadline comes before it would be due.
    A pause, a cap and the order of the lane still count: nothing is started by this.
    """
    with transaction.atomic():
        now = now or dialect().now()
        waiting = _lock(task_ids, due_at and max(due_at, now))
        ids = [schedule.task_id for schedule in waiting]
        if priority is not None:
            Schedule.objects.filter(pk__among=ids).update(priority=priority)
            Task.objects.filter(pk__among=ids).update(priority=priority)
        if due_at is not None:
            _move([each for each in waiting if max(each.due_at, due_at) > now], due_at, now)
    return set(ids)


def _lock(task_ids: Sequence[UUID], due_at: datetime | None) -> list[Schedule]:
    """Those that can be due then. Who holds the schedule decides about a waiting task, as in a cancellation."""
    schedules = Schedule.objects.filter(pk__among=task_ids).select_for_update().order_by("pk")
    waiting = {schedule.task_id: schedule for schedule in schedules}
    tasks: QuerySet[Task] = Task.objects.filter(pk__among=list(waiting))
    if due_at is not None:
        tasks = tasks.filter(Q(deadline=None) | Q(deadline__gt=due_at))
    locked = tasks.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True)
    return [waiting[task_id] for task_id in locked]


def _move(schedules: Sequence[Schedule], due_at: datetime, now: datetime) -> None:
    """Out of what is ready or held: the promoter puts each back when its instant has come."""
    if not schedules:
        return
    due_at = max(due_at, now)
    Schedule.objects.filter(pk__among=[schedule.task_id for schedule in schedules]).update(
        due_at=due_at, readiness=Readiness.NOT_DUE
    )
    if due_at <= now + wake.SLOWEST_LOOK:
        wake.after_commit(wake.DUE)
