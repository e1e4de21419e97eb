"""Pruning ticks: they are kept as long as the tasks of their tenant."""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from scheduling.ledger.dialects import dialect
from scheduling.models import RecurringTask, Tick
from tenants.models import Tenant

CHUNK = 500
ROWS = 100
"""Recurring tasks that one chunk looks at: by its row and its instant a tick is found at once."""


def prune_ticks(
    tenant: Tenant, *, keep: timedelta, limit: int = CHUNK, now: datetime | None = None
) -> int:
    """Delete up to `limit` of a tenant's ticks from longer than `keep` ago; how many. Call until it is 0.

    `keep` gives way to the tenant's own retention. What waits stays, and what made a task that is not known to be
    over. One transaction, and none when there is nothing to delete.
    """
    now = now or dialect().now()
    before = now - (keep if tenant.retention is None else tenant.retention)
    old = Tick.objects.filter(at__lt=before, is_open=False, outcome__isnull=False)
    theirs = RecurringTask.objects.filter(tenant=tenant)
    ids: list[int] = []
    for row in theirs.filter(Exists(old.filter(recurring=OuterRef("pk")))).only("pk")[:ROWS]:
        of_row = old.filter(recurring=row).order_by("at").values_list("pk", flat=True)
        ids += of_row[: limit - len(ids)]
    if ids:
        Tick.objects.filter(pk__in=ids).delete()
    return len(ids)
