"""Cancelling."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from scheduling.ledger import wake
from scheduling.ledger.dialects import Tally, dialect
from scheduling.ledger.minutes import minute_of
from scheduling.models import Schedule, Task
from scheduling.states import TaskState

LOOKS = 3
"""A task may go back to its queue between the look at what waits and the look at what runs; not this often."""


class _WentBack(Exception):
    """A task did so between the two. Nothing is kept of the look."""


@dataclass(frozen=True, slots=True)
class Cancelling:
    """What asking to cancel did to one task."""

    task_id: UUID
    state: TaskState | None
    """Afterwards. None: there is no such task."""
    requested: bool
    """True: it was queued and is cancelled now, or it runs and was asked to stop."""


def cancel(task_ids: Sequence[UUID], *, now: datetime | None = None) -> list[Cancelling]:
    """Cancel what is queued, ask what is running to stop, leave the rest; answers in the batch's order.

    One transaction. A running handler learns of it at once, by `context.cancelled`; if it ends well all the
    same, it has succeeded; if it fails, it is cancelled and not tried again.

    Schedules are locked before tasks. A task that went back to its queue is therefore let go before its schedule
    is waited for, also in a transaction of the caller's: whoever claims it has the schedule, and wants the task.
    """
    for look in range(LOOKS):
        with suppress(_WentBack), transaction.atomic():
            answers = _cancel(task_ids, now)
            if look < LOOKS - 1 and any(one.state is TaskState.QUEUED for one in answers.values()):
                raise _WentBack
            break
    return [answers[task_id] for task_id in task_ids]


def _cancel(task_ids: Sequence[UUID], now: datetime | None) -> dict[UUID, Cancelling]:
    now = now or dialect().now()
    waiting = _lock_schedules(task_ids)
    tasks = {task.pk: task for task in _lock_tasks(task_ids)}
    _stop_waiting([tasks[task_id] for task_id in waiting if task_id in tasks], now)
    running = [pk for pk, task in tasks.items() if task.state == TaskState.RUNNING]
    if Task.objects.filter(pk__among=running, cancel_requested_at=None).update(
        cancel_requested_at=now
    ):
        wake.after_commit(wake.CANCEL)
    return {task_id: _answer(task_id, tasks.get(task_id), waiting) for task_id in task_ids}


def _lock_schedules(task_ids: Sequence[UUID]) -> set[UUID]:
    """Who holds the schedule decides about a waiting task; a claim that came first has taken it away."""
    rows = Schedule.objects.filter(pk__among=task_ids).select_for_update().order_by("pk")
    return set(rows.values_list("pk", flat=True))


def _lock_tasks(task_ids: Sequence[UUID]) -> list[Task]:
    rows = Task.objects.filter(pk__among=task_ids).select_for_update(no_key=True).order_by("pk")
    return list(rows.only("pk", "state", "tenant_id"))


def _stop_waiting(tasks: Sequence[Task], now: datetime) -> None:
    if not tasks:
        return
    ids = [task.pk for task in tasks]
    Schedule.objects.filter(pk__among=ids).delete()
    Task.objects.filter(pk__among=ids).update(
        state=TaskState.CANCELLED, finished_at=now, cancel_requested_at=now
    )
    counts = Counter(task.tenant_id for task in tasks)
    db = dialect()
    db.add_finished(counts)
    db.add_throughput(
        {tenant_id: Tally(cancelled=count) for tenant_id, count in counts.items()}, minute_of(now)
    )


def _answer(task_id: UUID, task: Task | None, waiting: set[UUID]) -> Cancelling:
    if task is None:
        return Cancelling(task_id, None, requested=False)
    if task_id in waiting:
        return Cancelling(task_id, TaskState.CANCELLED, requested=True)
    state = TaskState(task.state)
    return Cancelling(task_id, state, requested=state is TaskState.RUNNING)
