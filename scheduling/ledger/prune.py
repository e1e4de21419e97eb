"""Pruning: history is kept as long as it was said to be kept."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from scheduling.ledger import totals
from scheduling.ledger.dialects import dialect
from scheduling.ledger.redrive import delete_tasks
from scheduling.models import Hour, Task, Throughput
from scheduling.states import TaskState
from tenants.models import Tenant

PRUNED_STATES = (TaskState.SUCCEEDED, TaskState.CANCELLED)
"""Dead letters are kept until somebody redrives or discards them: they are never lost silently."""


CHUNK = 200
"""Tasks to a transaction: on SQLite others wait for some six milliseconds, and have their turn in between."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """One chunk. Go on with `after` until it is None."""

    pruned: int
    after: UUID | None


def prune(
    tenant: Tenant,
    *,
    keep: timedelta,
    after: UUID | None = None,
    limit: int = CHUNK,
    now: datetime | None = None,
) -> Pruning:
    """Delete, in one short transaction, up to `limit` of a tenant's tasks that ended longer than `keep` ago.

    `keep` gives way to the tenant's own retention. Tasks are walked in the order of their creation from
    `after` on, so what stays is passed once in a run and not once in a chunk, up to a chunk in which nothing
    is old enough: what was created after that is younger still.
    """
    now = now or dialect().now()
    before = now - (keep if tenant.retention is None else tenant.retention)
    tasks = Task.objects.filter(tenant=tenant).order_by("pk")
    if after is not None:
        tasks = tasks.filter(pk__gt=after)
    rows = list(tasks.only("pk", "state", "created_at", "finished_at")[:limit])
    over = [task.pk for task in rows if _is_over(task, before)]
    if over:
        with transaction.atomic():
            delete_tasks(over)
    goes_on = len(rows) == limit and any(task.created_at < before for task in rows)
    return Pruning(len(over), rows[-1].pk if goes_on else None)


def _is_over(task: Task, before: datetime) -> bool:
    return (
        task.state in PRUNED_STATES and task.finished_at is not None and task.finished_at < before
    )


def prune_throughput(*, before: datetime | None = None, limit: int = 500) -> int:
    """Delete up to `limit` of the minutes before an instant, and add them to the totals of their tenants.

    And to their hours, of which go those of more than two days before. Before two hours ago, unless told
    otherwise. One transaction. Answers how many minutes; call until it is 0. Several at once take different ones.
    """
    now = dialect().now()
    old = Throughput.objects.filter(minute__lt=before or now - totals.MINUTES_KEPT)
    if not old.exists():
        return 0  # nearly always, and no reason to keep others from writing
    with transaction.atomic():
        locked = old.order_by("minute").select_for_update(skip_locked=True)
        minutes = list(locked[:limit])
        Throughput.objects.filter(pk__in=[minute.pk for minute in minutes]).delete()
        totals.add_minutes(dialect(), minutes)
        if minutes:
            over = Hour.objects.filter(hour__lt=minutes[0].minute - totals.HOURS_KEPT)
            nobodys = over.select_for_update(skip_locked=True).order_by()
            Hour.objects.filter(pk__in=nobodys.values("pk")).delete()
    return len(minutes)
