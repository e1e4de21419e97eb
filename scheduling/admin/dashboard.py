"""Reads the dashboard: a bounded number of queries, none of which walks the history.

Waiting tasks come from the tenants' counters, the rest from grouped reads of the hot tables, of the
partial index of the dead letters, and of the last hour of Throughput.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Min, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from scheduling.admin.figures import Dashboard, Minute, TenantFigures, WorkerFigures
from scheduling.ledger.kill_switch import KillSwitch
from scheduling.models import Lane, Lease, Pause, Schedule, Task, Throughput, WorkerProcess
from scheduling.states import Readiness
from tenants.models import Tenant

WINDOW = timedelta(hours=1)


def read(now: datetime) -> Dashboard:
    """The figures as of `now`, the most concerning tenants first."""
    pauses = list(Pause.objects.in_force(now))
    rows = _tenants(now)
    _add_backlog(rows, pauses)
    overdue = _add_running(rows, now)
    _add_dead(rows)
    _add_throughput(rows, now)
    for row in rows.values():
        row.pauses = [pause for pause in pauses if _concerns(pause, row.tenant)]
    return Dashboard(
        now=now,
        tenants=sorted(
            rows.values(), key=lambda row: (-row.concern, row.is_quiet, row.tenant.slug)
        ),
        workers=_workers(now),
        minutes=_minutes(now),
        overdue_leases=overdue,
    )


def _concerns(pause: Pause, tenant: Tenant) -> bool:
    """Pauses of a queue or a name of everyone are the banner's to show, not every tenant's."""
    return pause.tenant_id == tenant.pk or not (pause.tenant_id or pause.queue or pause.name)


def _tenants(now: datetime) -> dict[int, TenantFigures]:
    """With the unfinished tasks of each for a start; those in flight are taken off later."""
    tenants = Tenant.objects.annotate(
        unfinished=Coalesce("intake__accepted", 0) - Coalesce("outflow__finished", 0)
    )
    return {tenant.pk: TenantFigures(tenant, now, waiting=tenant.unfinished) for tenant in tenants}


def _add_backlog(rows: dict[int, TenantFigures], pauses: Sequence[Pause]) -> None:
    """Lane by lane, because a pause stops whole lanes; those of single names are not told apart."""
    switch = KillSwitch(tuple((each.tenant_id, each.queue, each.name) for each in pauses))
    ready = Schedule.objects.filter(readiness=Readiness.READY).order_by().values("lane")
    found = ready.annotate(count=Count("task"), oldest=Min("due_at"))
    backlogs = {group["lane"]: group for group in found}
    for lane in Lane.objects.filter(pk__in=ready):
        backlog, row = backlogs.get(lane.pk), rows.get(lane.tenant_id)
        if backlog is None or row is None:
            continue  # it came or went between two reads
        row.ready += backlog["count"]
        if switch.stops_lane(lane):
            row.held_back += backlog["count"]
        elif row.oldest_due is None or backlog["oldest"] < row.oldest_due:
            row.oldest_due = backlog["oldest"]


def _add_running(rows: dict[int, TenantFigures], now: datetime) -> int:
    """Returns how many leases have run out and were not ended yet."""
    overdue = 0
    by_tenant = (
        Lease.objects.order_by()
        .values(key=F("tenant"))
        .annotate(count=Count("task"), overdue=Count("task", filter=Q(expires_at__lt=now)))
    )
    for group in by_tenant:
        overdue += group["overdue"]
        if row := rows.get(group["key"]):
            row.running = group["count"]
            row.waiting = max(row.waiting - row.running, 0)
    return overdue


def _add_dead(rows: dict[int, TenantFigures]) -> None:
    by_tenant = Task.objects.dead().order_by().values("tenant").annotate(count=Count("pk"))
    for group in by_tenant:
        if row := rows.get(group["tenant"]):
            row.dead = group["count"]


def _add_throughput(rows: dict[int, TenantFigures], now: datetime) -> None:
    for tenant_id, *counts in _throughput("tenant_id", now):
        if row := rows.get(tenant_id):
            row.succeeded, row.retried, row.died = counts


def _minutes(now: datetime) -> list[Minute]:
    """One for each minute of the last hour, the silent ones too."""
    done = {minute: Minute(minute, *counts) for minute, *counts in _throughput("minute", now)}
    this_minute = now.replace(second=0, microsecond=0)
    starts = (this_minute - timedelta(minutes=ago) for ago in range(59, -1, -1))
    return [done.get(start, Minute(start)) for start in starts]


def _throughput(key: str, now: datetime) -> QuerySet[Throughput, Any]:
    """The last hour, summed by tenant or by minute: (key, succeeded, retried, dead)."""
    rows = Throughput.objects.filter(minute__gt=now - WINDOW).order_by().values_list(key)
    return rows.annotate(Sum("succeeded"), Sum("retried"), Sum("dead"))


def _workers(now: datetime) -> list[WorkerFigures]:
    busy = dict(Lease.objects.order_by().values_list("worker").annotate(count=Count("task")))
    return [
        WorkerFigures(process, busy.get(process.pk, 0), now)
        for process in WorkerProcess.objects.order_by("host", "pid")
    ]
