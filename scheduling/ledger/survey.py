"""Owns the figures of the ledger as it stands, for those who watch it: metrics, and people at a terminal.

Read from the hot tables, the counters and the partial index of the dead letters: what it costs grows with
what waits, and not with history. Each statement sees the ledger at an instant of its own, so on a busy one
a task that moves meanwhile may be counted twice or not at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Min, Q
from django.db.models.functions import Coalesce

from scheduling.ledger import paces, storage, totals
from scheduling.ledger.dialects import FIGURES, dialect
from scheduling.ledger.kill_switch import KillSwitch
from scheduling.models import Lane, Lease, Pause, Schedule, Task, WorkerProcess
from scheduling.models.worker import SILENT_AFTER
from scheduling.spread import Spread
from scheduling.states import Readiness
from tenants.models import Tenant


@dataclass(slots=True)
class LaneFigures:
    """One tenant's queue. What is ready may start; what is held would, but for a pause."""

    tenant_id: int
    queue: str
    ready: int = 0
    held: int = 0
    scheduled: int = 0
    """Due later."""
    running: int = 0
    dead: int = 0
    oldest_ready: datetime | None = None
    """When the first of the ready ones was due."""


@dataclass(frozen=True, slots=True)
class TenantFigures:
    """One tenant, with what was done since it began: `FIGURES` and `refused`."""

    tenant: Tenant
    accepted: int
    """Redriven ones count again."""
    finished: int
    totals: Mapping[str, float]
    lanes: Sequence[LaneFigures]

    @property
    def unfinished(self) -> int:
        return self.accepted - self.finished


@dataclass(frozen=True, slots=True)
class Survey:
    """Everything that was found. Tenants and lanes stand in the order in which they were made."""

    now: datetime
    tenants: Sequence[TenantFigures]
    pauses: Sequence[Pause]
    workers: Sequence[WorkerProcess]
    overdue_leases: int
    """Run out, and not ended yet."""
    paces: Mapping[str, Spread]
    """What calls of each verb took, as `paces.read` tells it."""
    sizes: Mapping[str, int]
    """Bytes, as `storage.sizes` tells them."""

    @property
    def lanes(self) -> list[LaneFigures]:
        return [lane for one in self.tenants for lane in one.lanes]

    def age(self, lane: LaneFigures) -> timedelta:
        """Of the oldest ready task; nothing when there is none."""
        zero = timedelta(0)
        return max(self.now - lane.oldest_ready, zero) if lane.oldest_ready else zero

    @property
    def alive(self) -> list[WorkerProcess]:
        """Workers that have said so lately."""
        return [one for one in self.workers if self.now - one.seen_at <= SILENT_AFTER]

    @property
    def is_all_paused(self) -> bool:
        return any(not (one.tenant_id or one.queue or one.name) for one in self.pauses)

    @property
    def unfinished(self) -> int:
        return sum(one.unfinished for one in self.tenants)

    @property
    def most_unfinished(self) -> int | None:
        """What nobody's tasks are accepted beyond. None: no limit."""
        return settings.LEDGER_MAX_QUEUED or None


def survey(now: datetime | None = None) -> Survey:
    """Look at all of it, as of `now`: the database's clock unless told otherwise."""
    now = now or dialect().now()
    pauses = list(Pause.objects.in_force(now))
    return Survey(
        now=now,
        tenants=_tenants(_lanes(now, pauses)),
        pauses=pauses,
        workers=list(WorkerProcess.objects.order_by("host", "pid")),
        overdue_leases=Lease.objects.filter(expires_at__lt=now).count(),
        paces=paces.read(),
        sizes=storage.sizes(),
    )


def _tenants(lanes: Iterable[LaneFigures]) -> list[TenantFigures]:
    lanes_of: dict[int, list[LaneFigures]] = {}
    for lane in lanes:
        lanes_of.setdefault(lane.tenant_id, []).append(lane)
    sums = totals.read()
    nothing = dict.fromkeys((*FIGURES, "refused"), 0)
    rows = Tenant.objects.order_by("pk").annotate(
        accepted=Coalesce("intake__accepted", 0), finished=Coalesce("outflow__finished", 0)
    )
    return [
        TenantFigures(
            tenant=row,
            accepted=row.accepted,
            finished=row.finished,
            totals=sums.get(row.pk, nothing),
            lanes=lanes_of.get(row.pk, []),
        )
        for row in rows
    ]


def _lanes(now: datetime, pauses: Iterable[Pause]) -> list[LaneFigures]:
    lanes = {
        pk: LaneFigures(tenant_id, queue)
        for pk, tenant_id, queue in Lane.objects.order_by("pk").values_list(
            "pk", "tenant_id", "queue"
        )
    }
    _add_due(lanes, now, pauses)
    for lane, found in _found(lanes, Q(readiness=Readiness.NOT_DUE, due_at__gt=now)):
        lane.scheduled = found["count"]
    _add_running(lanes)
    _add_dead(lanes.values())
    return list(lanes.values())


def _add_due(lanes: Mapping[int, LaneFigures], now: datetime, pauses: Iterable[Pause]) -> None:
    """What is due is ready, also while no worker is there to promote it, unless a pause stops it.

    Tasks whose name alone is paused count as held once a claim has met them.
    """
    switch = KillSwitch(tuple((one.tenant_id, one.queue, one.name) for one in pauses))
    unpromoted = Q(readiness=Readiness.NOT_DUE, due_at__lte=now)
    for due in (Q(readiness=Readiness.READY), unpromoted):
        for lane, found in _found(lanes, due):
            if switch.stops_lane(lane):
                lane.held += found["count"]
            else:
                lane.ready += found["count"]
                oldest: datetime = found["oldest"]
                lane.oldest_ready = min(oldest, lane.oldest_ready or oldest)
    for lane, found in _found(lanes, Q(readiness=Readiness.HELD)):
        lane.held += found["count"]


def _found(
    lanes: Mapping[int, LaneFigures], which: Q
) -> Iterable[tuple[LaneFigures, Mapping[str, Any]]]:
    """Each lane that has such schedules, with their count and when the oldest was due."""
    groups = Schedule.objects.filter(which).order_by().values("lane")
    for group in groups.annotate(count=Count("*"), oldest=Min("due_at")):
        if lane := lanes.get(group["lane"]):  # or it came after we looked at the lanes
            yield lane, group


def _add_running(lanes: Mapping[int, LaneFigures]) -> None:
    for lane_id, count in Lease.objects.order_by().values_list("lane").annotate(count=Count("*")):
        if lane := lanes.get(lane_id):
            lane.running = count


def _add_dead(lanes: Iterable[LaneFigures]) -> None:
    by_place = {(lane.tenant_id, lane.queue): lane for lane in lanes}
    dead = Task.objects.dead().order_by().values_list("tenant_id", "queue")
    for tenant_id, queue, count in dead.annotate(count=Count("*")):
        if lane := by_place.get((tenant_id, queue)):
            lane.dead = count
