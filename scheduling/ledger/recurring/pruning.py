"""Pruning ticks: they are kept as long as the tasks of their tenant."""

from datetime import datetime, timedelta

from scheduling.ledger.dialects import dialect
from scheduling.models import Tick
from tenants.models import Tenant

CHUNK = 500


def prune_ticks(
    tenant: Tenant, *, keep: timedelta, limit: int = CHUNK, now: datetime | None = None
) -> int:
    """Delete up to `limit` of a tenant's ticks from longer than `keep` ago; how many. Call until it is 0.

    `keep` gives way to the tenant's own retention. What waits stays, and what made a task that is not known to be
    over. One transaction, and none when there is nothing to delete.
    """
    now = now or dialect().now()
    before = now - (keep if tenant.retention is None else tenant.retention)
    old = Tick.objects.filter(recurring__tenant=tenant, at__lt=before, is_open=False)
    ids = list(old.exclude(outcome=None).order_by().values_list("pk", flat=True)[:limit])
    if ids:
        Tick.objects.filter(pk__in=ids).delete()
    return len(ids)
