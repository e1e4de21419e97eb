"""Reads who holds what, and tells by it whether anybody is there to run anything."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q

from scheduling.models import Lease, WorkerProcess


@dataclass(frozen=True, slots=True)
class Leases:
    """How many there are, by who holds them and by where they come from."""

    by_worker: Mapping[UUID, int]
    by_lane: Mapping[int, int]
    by_tenant: Mapping[int, int]
    total: int
    overdue: int
    holders: frozenset[UUID]
    """Workers with at least one that has not run out."""

    def are_worked(self, processes: Iterable[WorkerProcess], now: datetime) -> bool:
        """Whether somebody is there: one of all these processes, or a remote worker, of which leases alone tell."""
        known = list(processes)
        is_one_alive = any(not process.is_silent(now) for process in known)
        return is_one_alive or not self.holders <= {process.pk for process in known}


def read_leases(now: datetime) -> Leases:
    """One query, which walks what is in flight and nothing else."""
    groups = Lease.objects.order_by().values_list("worker", "lane", "tenant")
    by_worker, by_lane, by_tenant = Counter[UUID](), Counter[int](), Counter[int]()
    overdue, holders = 0, set[UUID]()
    for worker, lane, tenant, count, late in groups.annotate(
        count=Count("task"), late=Count("task", filter=Q(expires_at__lt=now))
    ):
        by_worker[worker] += count
        by_lane[lane] += count
        by_tenant[tenant] += count
        overdue += late
        if late < count:
            holders.add(worker)
    total = by_worker.total()
    return Leases(by_worker, by_lane, by_tenant, total, overdue, frozenset(holders))
