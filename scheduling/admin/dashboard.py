"""Reads the dashboard: a bounded number of queries, none of which walks the history.

Whoever needs a look is found first, by the counters and by the heads of the lanes; only they are surveyed. So
ten thousand tenants cost little more than fifty.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    Aggregate,
    Count,
    F,
    FloatField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
)
from django.db.models.functions import Cast, Coalesce, Least

from scheduling.admin.figures import Dashboard, Row, Sums, WorkerFigures, concerns
from scheduling.admin.leases import Leases, read_leases
from scheduling.admin.series import HOUR, Period, Slot
from scheduling.admin.series import read as read_series
from scheduling.ledger import storage
from scheduling.ledger.survey import survey_of
from scheduling.models import (
    Intake,
    Lane,
    Lease,
    Outflow,
    Pause,
    RecurringTask,
    Refusal,
    Schedule,
    Task,
    Throughput,
    WorkerProcess,
)
from scheduling.models.throughput import TALLIED
from scheduling.states import Readiness
from tenants.models import Tenant

LATELY = timedelta(minutes=10)
LOOKED_AT = 50
"""Tenants in each respect."""
SHOWN = 50
REFUSALS_READ = 1000

UNFINISHED = Coalesce("intake__accepted", 0) - Coalesce("outflow__finished", 0)


def read(now: datetime, period: Period = Period.HOUR) -> Dashboard:
    """The figures as of `now`."""
    pauses = list(Pause.objects.standing(now))
    leases = read_leases(now)
    processes = list(WorkerProcess.objects.order_by("host", "pid"))
    rows = _rows(now, pauses, leases, is_worked=leases.are_worked(processes, now))
    slots, last_hour = read_series(period, now)
    return Dashboard(
        now=now,
        pauses=pauses,
        sums=_sums(now, leases),
        tenants=sorted(rows, key=lambda row: (-row.concern, row.is_quiet, row.tenant.slug))[:SHOWN],
        workers=_workers(now, processes, leases),
        last_hour=last_hour,
        slots=slots,
        storage=storage.sizes(),
    )


def _rows(now: datetime, pauses: list[Pause], leases: Leases, *, is_worked: bool) -> list[Row]:
    found = survey_of(_who_needs_a_look(now), now, pauses, leases.by_lane)
    done = _done(now, [one.tenant.pk for one in found])
    wanted = sum(one.tenant.weight for one in found if one.ready or one.running)
    return [
        Row(
            figures=one,
            now=now,
            pauses=[pause for pause in pauses if concerns(pause, one.tenant)],
            share=one.running / leases.total if leases.total else 0.0,
            due_share=one.tenant.weight / wanted if one.ready or one.running else 1.0,
            is_worked=is_worked,
            last_hour=done.get(one.tenant.pk),
        )
        for one in found
    ]


def _who_needs_a_look(now: datetime) -> QuerySet[Tenant]:
    """The first of each kind: paused, nearly full, with most to do, late, running most, failing most."""
    unfinished = Tenant.objects.annotate(unfinished=UNFINISHED)
    fill = Cast("unfinished", FloatField()) / F("max_queued")
    full = unfinished.filter(max_queued__isnull=False).order_by(fill.desc())
    busy = Lease.objects.order_by().values("tenant").annotate(count=Count("*")).order_by("-count")
    minutes = Throughput.objects.filter(minute__gt=now - LATELY).order_by().values("tenant")
    failing = minutes.annotate(failed=Sum("dead") + Sum("retried")).order_by("-failed")
    kinds = (
        Pause.objects.in_force(now).filter(tenant__isnull=False).order_by("since").values("tenant"),
        full.values("pk"),
        unfinished.order_by("-unfinished").values("pk"),
        late_lanes(now).values("tenant"),
        busy.values("tenant"),
        failing.values("tenant"),
    )
    found = Q()
    for kind in kinds:
        found |= Q(pk__in=kind[:LOOKED_AT])
    return Tenant.objects.filter(found)


def late_lanes(now: datetime) -> QuerySet[Lane]:
    """Ready lanes by what has waited longest, as the first and the last of its priorities tell."""
    ready = Schedule.objects.filter(lane=OuterRef("pk"), readiness=Readiness.READY)
    of_lane = Schedule.objects.filter(lane=OuterRef(OuterRef("pk")), readiness=Readiness.READY)
    last = ready.filter(priority=Subquery(of_lane.order_by("priority").values("priority")[:1]))
    heads = (ready.order_by("-priority", "due_at"), last.order_by("due_at"))
    paused = Pause.objects.in_force(now).filter(tenant__isnull=False, queue="", name="")
    lanes = Lane.objects.filter(readiness=Readiness.READY).exclude(
        tenant__in=paused.values("tenant")
    )
    oldest = Least(*(Subquery(head.values("due_at")[:1]) for head in heads))
    return lanes.annotate(oldest=oldest).filter(oldest__isnull=False).order_by("oldest")


def _done(now: datetime, tenants: Collection[int]) -> dict[int, Slot]:
    """In the last hour, by tenant: those who did anything."""
    minutes = Throughput.objects.filter(minute__gt=now - HOUR, tenant__in=tenants).order_by()
    sums = minutes.values_list("tenant_id").annotate(*(Sum(name) for name in TALLIED))
    return {pk: Slot(now - HOUR, *figures) for pk, *figures in sums}


def _sums(now: datetime, leases: Leases) -> Sums:
    """Over all tenants, in one statement."""
    last = Subquery(Refusal.objects.order_by("-pk").values("pk")[:1])
    refused = Refusal.objects.filter(pk__gt=last - REFUSALS_READ, refused_at__gt=now - HOUR)
    first, *others = (
        _one("tenants", Tenant.objects.all(), Count("*")),
        _one("accepted", Intake.objects.all(), Coalesce(Sum("accepted"), 0)),
        _one("finished", Outflow.objects.all(), Coalesce(Sum("finished"), 0)),
        _one("ready", Schedule.objects.filter(readiness=Readiness.READY), Count("*")),
        _one("dead", Task.objects.dead(), Count("*")),
        _one("refused", refused, Count("*")),
        _one("recurring_disabled", RecurringTask.objects.disabled(), Count("*")),
        _one("recurring_overdue", RecurringTask.objects.overdue(now), Count("*")),
    )
    found = dict(first.union(*others, all=True).order_by())
    return Sums(
        tenants=found.get("tenants", 0),
        unfinished=found.get("accepted", 0) - found.get("finished", 0),
        ready=found.get("ready", 0),
        dead=found.get("dead", 0),
        refused=found.get("refused", 0),
        recurring_disabled=found.get("recurring_disabled", 0),
        recurring_overdue=found.get("recurring_overdue", 0),
        running=leases.total,
        overdue=leases.overdue,
    )


def _one(kind: str, which: QuerySet[Any], figure: Aggregate | Coalesce) -> QuerySet[Any, Any]:
    named = which.order_by().annotate(kind=Value(kind)).values("kind")
    found: QuerySet[Any, Any] = named.annotate(figure=figure).values_list("kind", "figure")
    return found


def _workers(
    now: datetime, processes: Sequence[WorkerProcess], leases: Leases
) -> list[WorkerFigures]:
    return [
        WorkerFigures(process, leases.by_worker.get(process.pk, 0), now) for process in processes
    ]
