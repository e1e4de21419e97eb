"""Dead letters: run again, or thrown away."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet

from scheduling.errors import LimitExceeded, Overloaded
from scheduling.ledger import admission, capacity
from scheduling.ledger.dialects import dialect
from scheduling.ledger.enqueue import schedule
from scheduling.models import Task
from scheduling.states import TaskState

Full = LimitExceeded | Overloaded
"""Why the ledger takes no dead letter back for now."""


def redrive(task_ids: Sequence[UUID], *, now: datetime | None = None) -> int:
    """Queue dead letters again, at once, with a fresh allowance; answers how many.

    The history stays, the generation counts on, and `redriven_from` says where the new run began. A deadline
    that has passed is dropped. What is not dead is left alone, so twice at once is once. Counts against
    `max_queued`, not against the rate: LimitExceeded, or Overloaded, and then none of the batch is queued.
    """
    return len(redriven(task_ids, now=now))


def redriven(task_ids: Sequence[UUID], *, now: datetime | None = None) -> list[UUID]:
    """Redrive them; answers which were dead until then, by a lock: of two at once each is told of its own."""
    capacity.require_room()
    db = dialect()
    with transaction.atomic():
        tasks = list(_dead(task_ids).only("pk", "tenant_id", "queue", "priority"))
        for tenant_id, count in sorted(Counter(task.tenant_id for task in tasks).items()):
            now = admission.admit(db, tenant_id, count, now, rated=False)
        if tasks:
            now = now or db.now()
            _revive([task.pk for task in tasks], now)
            schedule(
                db,
                [(task.pk, task.tenant_id, task.queue, task.priority, None) for task in tasks],
                now,
            )
    return [task.pk for task in tasks]


def redrive_what_fits(tasks: Sequence[Task], full: dict[int, Full]) -> list[Task]:
    """Redrive as many of them as are still dead and as the limits of their tenants allow; answers which.

    A batch is taken whole or not at all, so one that does not fit is halved. Tenants with no room for one
    more are added to `full`, and nothing of them is tried again.

    One transaction. Dead letters are locked before what is counted of their tenants, and tenants in the order of
    their ids, by all that redrives: of several halves as well.
    """
    with transaction.atomic():
        list(_dead([task.pk for task in tasks]).values_list("pk"))
        return _halved(sorted(tasks, key=lambda task: (task.tenant_id, task.pk)), full)


def _halved(tasks: Sequence[Task], full: dict[int, Full]) -> list[Task]:
    tasks = [task for task in tasks if task.tenant_id not in full]
    if not tasks:
        return []
    try:
        done = set(redriven([task.pk for task in tasks]))
    except Overloaded as limit:
        full.update({task.tenant_id: limit for task in tasks})
        return []
    except LimitExceeded as limit:
        if len(tasks) == 1:
            full[tasks[0].tenant_id] = limit
            return []
    else:
        return [task for task in tasks if task.pk in done]
    middle = len(tasks) // 2
    return _halved(tasks[:middle], full) + _halved(tasks[middle:], full)


def discard(task_ids: Sequence[UUID]) -> int:
    """Delete dead letters with their history; answers how many. What is not dead is left alone."""
    return len(discarded(task_ids))


def discarded(task_ids: Sequence[UUID]) -> list[UUID]:
    """Discard them; answers which were dead until then."""
    with transaction.atomic():
        ids = list(_dead(task_ids).values_list("pk", flat=True))
        delete_tasks(ids)
    return ids


def delete_tasks(task_ids: Sequence[UUID]) -> None:
    """Delete finished tasks and, by cascade, what is told of them."""
    Task.objects.filter(pk__among=task_ids).only("pk").delete()


def _dead(task_ids: Sequence[UUID]) -> QuerySet[Task]:
    return (
        Task.objects.dead().filter(pk__among=task_ids).select_for_update(no_key=True).order_by("pk")
    )


def _revive(task_ids: Sequence[UUID], now: datetime) -> None:
    tasks = Task.objects.filter(pk__among=task_ids)
    tasks.filter(deadline__lte=now).update(deadline=None)
    tasks.update(
        state=TaskState.QUEUED,
        attempts=0,
        dead_reason=None,
        finished_at=None,
        cancel_requested_at=None,
        redriven_from=F("generation"),
    )
