"""What on the dashboard needs a look, in sentences, the most pressing first."""

from collections.abc import Iterator
from dataclasses import dataclass

from scheduling.admin.figures import Concern, Dashboard, TenantFigures
from scheduling.admin.words import counted, lasting
from scheduling.models.worker import SILENT_AFTER

TENANTS_NAMED = 5


@dataclass(frozen=True, slots=True)
class Notice:
    concern: Concern
    text: str


def notices(dashboard: Dashboard) -> list[Notice]:
    found = [*_of_workers(dashboard), *_of_tenants(dashboard)]
    return sorted(found, key=lambda notice: -notice.concern)


def _of_workers(dashboard: Dashboard) -> Iterator[Notice]:
    silent = [worker for worker in dashboard.workers if worker.is_silent]
    ready = dashboard.totals["ready"] - dashboard.totals["held_back"]
    if len(silent) == len(dashboard.workers):
        waiting = f" {counted(ready, 'ready task')} with nobody to run them." if ready else ""
        yield Notice(Concern.ALARM if ready else Concern.WARN, f"No worker is alive.{waiting}")
    elif silent:
        who = counted(len(silent), "worker")
        yield Notice(Concern.WARN, f"{who} not heard of for {lasting(SILENT_AFTER)} or longer.")
    if dashboard.overdue_leases:
        leases = f"Leases past their end: {dashboard.overdue_leases:,}."
        yield Notice(Concern.WARN, f"{leases} They are reaped as soon as a worker is sure.")


def _of_tenants(dashboard: Dashboard) -> Iterator[Notice]:
    full = [row for row in dashboard.tenants if row.waiting_concern is Concern.ALARM]
    if full:
        yield Notice(Concern.ALARM, f"At max_queued, new tasks are refused: {_named(full)}.")
    nearly = [row for row in dashboard.tenants if row.waiting_concern is Concern.WARN]
    if nearly:
        yield Notice(Concern.WARN, f"Close to max_queued: {_named(nearly)}.")
    late = [row for row in dashboard.tenants if row.latency_concern]
    if late:
        worst = max(row.latency_concern for row in late)
        yield Notice(worst, f"Ready tasks wait for long: {_named(late)}.")


def _named(rows: list[TenantFigures]) -> str:
    names = ", ".join(row.tenant.slug for row in rows[:TENANTS_NAMED])
    left = len(rows) - TENANTS_NAMED
    return f"{names} and {counted(left, 'other')}" if left > 0 else names
