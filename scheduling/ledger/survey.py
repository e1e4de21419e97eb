"""Owns the figures of the ledger as it stands, for those who watch it: metrics, and people at a terminal.

Read from the hot tables, the counters and the partial index of the dead letters: what it costs grows with
what waits, and not with history. Each statement sees the ledger at an instant of its own, so on a busy one
a task that moves meanwhile may be counted twice or not at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, QuerySet, Value
from django.db.models.functions import Coalesce

from scheduling.conf import conf
from scheduling.ledger import paces, storage, totals
from scheduling.ledger.dialects import FIGURES, dialect
from scheduling.ledger.kill_switch import KillSwitch
from scheduling.models import Lane, Lease, Pause, Schedule, Task, WorkerProcess
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
    """One tenant and its lanes, with what was done since it began: `FIGURES` and `refused`."""

    tenant: Tenant
    accepted: int
    """Redriven ones count again."""
    finished: int
    lanes: Sequence[LaneFigures]
    totals: Mapping[str, float] = field(default_factory=dict)

    @property
    def unfinished(self) -> int:
        return self.accepted - self.finished

    @property
    def waiting(self) -> int:
        """Ready, held, or due later. Counters and leases are read at instants of their own."""
        return max(self.unfinished - self.running, 0)

    @property
    def ready(self) -> int:
        return sum(lane.ready for lane in self.lanes)

    @property
    def held(self) -> int:
        return sum(lane.held for lane in self.lanes)

    @property
    def running(self) -> int:
        return sum(lane.running for lane in self.lanes)

    @property
    def dead(self) -> int:
        return sum(lane.dead for lane in self.lanes)

    @property
    def oldest_ready(self) -> datetime | None:
        due = (lane.oldest_ready for lane in self.lanes if lane.oldest_ready)
        return min(due, default=None)


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
        return [one for one in self.workers if not one.is_silent(self.now)]

    @property
    def is_all_paused(self) -> bool:
        return any(not (one.tenant_id or one.queue or one.name) for one in self.pauses)

    @property
    def unfinished(self) -> int:
        return sum(one.unfinished for one in self.tenants)

    @property
    def most_unfinished(self) -> int | None:
        """What nobody's tasks are accepted beyond. None: no limit."""
        return conf().LEDGER_MAX_QUEUED or None


def survey(now: datetime | None = None) -> Survey:
    """Look at all of it, as of `now`: the database's clock unless told otherwise."""
    now = now or dialect().now()
    pauses = list(Pause.objects.in_force(now))
    sums = totals.read()
    lanes = _lanes(Lane.objects.all(), pauses, [*_due(now), _scheduled(now)])
    _add_running(lanes)
    _add_dead(lanes, Task.objects.dead())
    return Survey(
        now=now,
        tenants=_tenants(_counted(Tenant.objects.all()), lanes.values(), sums),
        pauses=pauses,
        workers=list(WorkerProcess.objects.order_by("host", "pid")),
        overdue_leases=Lease.objects.filter(expires_at__lt=now).count(),
        paces=paces.read(),
        sizes=storage.sizes(),
    )


def survey_of(
    which: QuerySet[Tenant],
    now: datetime,
    pauses: Iterable[Pause],
    running: Mapping[int, int] | None = None,
) -> list[TenantFigures]:
    """Some tenants alone: for who has no use for all of them.

    Not a word of what is due later, which only a look at everybody's finds, nor of what was done. `running`,
    by lane, is for who has counted the leases already.
    """
    tenants = list(_counted(which))
    lanes = Lane.objects.filter(tenant__in=[one.pk for one in tenants])
    found = _lanes(lanes, pauses, [part.filter(lane__in=lanes.values("pk")) for part in _due(now)])
    _add_running(found, running)
    _add_dead(found, Task.objects.dead().filter(tenant__in=[one.pk for one in tenants]))
    return _tenants(tenants, found.values(), {})


def _counted(which: QuerySet[Tenant]) -> QuerySet[Any]:
    return which.order_by("pk").annotate(
        accepted=Coalesce("intake__accepted", 0), finished=Coalesce("outflow__finished", 0)
    )


def _tenants(
    rows: Iterable[Any], lanes: Iterable[LaneFigures], sums: Mapping[int, Mapping[str, float]]
) -> list[TenantFigures]:
    lanes_of: dict[int, list[LaneFigures]] = {}
    for lane in lanes:
        lanes_of.setdefault(lane.tenant_id, []).append(lane)
    nothing = dict.fromkeys((*FIGURES, "refused"), 0)
    return [
        TenantFigures(
            tenant=row,
            accepted=row.accepted,
            finished=row.finished,
            lanes=lanes_of.get(row.pk, []),
            totals=sums.get(row.pk, nothing),
        )
        for row in rows
    ]


def _due(now: datetime) -> list[QuerySet[Schedule, Any]]:
    """What is due is ready, also while no worker is there to promote it, or else it is held."""
    return [
        _told("ready", Schedule.objects.filter(readiness=Readiness.READY)),
        _told("ready", Schedule.objects.filter(readiness=Readiness.NOT_DUE, due_at__lte=now)),
        _told("held", Schedule.objects.filter(readiness=Readiness.HELD)),
    ]


def _scheduled(now: datetime) -> QuerySet[Schedule, Any]:
    later = Schedule.objects.filter(readiness=Readiness.NOT_DUE, due_at__gt=now)
    return _told("scheduled", later)


def _told(kind: str, which: QuerySet[Schedule]) -> QuerySet[Schedule, Any]:
    """Lane by lane: how many, and when the oldest was due."""
    groups = which.order_by().values("lane").annotate(kind=Value(kind))
    return groups.annotate(count=Count("*"), oldest=Min("due_at"))


def _lanes(
    which: QuerySet[Lane], pauses: Iterable[Pause], waiting: Sequence[QuerySet[Schedule, Any]]
) -> dict[int, LaneFigures]:
    """Those lanes, with what waits in them. What is ready in a lane that a pause stops is held.

    Tasks whose name alone is paused count as held once a claim has met them.
    """
    lanes = {
        pk: LaneFigures(tenant_id, queue)
        for pk, tenant_id, queue in which.order_by("pk").values_list("pk", "tenant_id", "queue")
    }
    switch = KillSwitch(tuple((one.tenant_id, one.queue, one.name) for one in pauses))
    columns = ("lane", "kind", "count", "oldest")
    first, *others = (part.values_list(*columns) for part in waiting)
    for lane_id, kind, count, oldest in first.union(*others, all=True).order_by():
        if not (lane := lanes.get(lane_id)):
            continue  # it came after we looked at the lanes
        if kind == "scheduled":
            lane.scheduled += count
        elif kind == "held" or switch.stops_lane(lane):
            lane.held += count
        else:
            lane.ready += count
            lane.oldest_ready = min(oldest, lane.oldest_ready or oldest)
    return lanes


def _add_running(lanes: Mapping[int, LaneFigures], counts: Mapping[int, int] | None = None) -> None:
    if counts is None:
        counts = dict(Lease.objects.order_by().values_list("lane").annotate(count=Count("*")))
    for lane_id, count in counts.items():
        if lane := lanes.get(lane_id):
            lane.running = count


def _add_dead(lanes: Mapping[int, LaneFigures], dead: QuerySet[Task]) -> None:
    by_place = {(lane.tenant_id, lane.queue): lane for lane in lanes.values()}
    counts = dead.order_by().values_list("tenant_id", "queue").annotate(count=Count("*"))
    for tenant_id, queue, count in counts:
        if lane := by_place.get((tenant_id, queue)):
            lane.dead = count
