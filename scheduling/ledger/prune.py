"""Pruning: history is kept as long as it was said to be kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from scheduling.ledger.dialects import dialect
from scheduling.ledger.redrive import delete_tasks
from scheduling.models import Task, Throughput
from scheduling.states import TaskState
from tenants.models import Tenant

PRUNED_STATES = (TaskState.SUCCEEDED, TaskState.CANCELLED)
"""Dead letters are kept until somebody redrives or discards them: they are never lost silently."""


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
    limit: int = 1000,
    now: datetime | None = None,
) -> Pruning:
    """Delete, in one short transaction, up to `limit` of a tenant's tasks that ended longer than `keep` ago.

    `keep` gives way to the tenant's own retention. Tasks are walked in the order of their creation from
    `after` on, so what stays is passed once in a run and not once in a chunk.
    """
    now = now or dialect().now()
    before = now - (keep if tenant.retention is None else tenant.retention)
    tasks = Task.objects.filter(tenant=tenant, created_at__lt=before).order_by("pk")
    if after is not None:
        tasks = tasks.filter(pk__gt=after)
    rows = list(tasks.values_list("pk", "state", "finished_at")[:limit])
    over = list(_over(rows, before))
    with transaction.atomic():
        delete_tasks(over)
    return Pruning(len(over), rows[-1][0] if len(rows) == limit else None)


def _over(rows: Iterable[tuple[UUID, str, datetime | None]], before: datetime) -> Iterable[UUID]:
    return (
        pk
        for pk, state, finished_at in rows
        if state in PRUNED_STATES and finished_at is not None and finished_at < before
    )


def prune_throughput(*, before: datetime) -> int:
    """Delete the minutes before an instant; answers how many rows."""
    return Throughput.objects.filter(minute__lt=before).delete()[0]
