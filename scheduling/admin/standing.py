"""Reads how one tenant stands: its limits and what it uses, its lanes, whom it shares with, what failed of late."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q, Sum

from scheduling.admin import failures
from scheduling.admin.dashboard import LATELY, late_lanes
from scheduling.admin.failures import Failures
from scheduling.admin.figures import Concern, Row, concerns, failing
from scheduling.admin.leases import Leases, read_leases
from scheduling.admin.series import Period, Slot
from scheduling.admin.series import read as read_series
from scheduling.ledger.survey import LaneFigures, TenantFigures, survey_of
from scheduling.models import Pause, Throughput, WorkerProcess
from tenants.models import Tenant

SHARERS_SHOWN = 6
"""Of those who run most, of those who ran most, and of those who wait longest."""


@dataclass(frozen=True, slots=True)
class Part:
    """Something that a tenant has, of all that there is."""

    count: float
    of: float

    @property
    def share(self) -> float:
        return self.count / self.of if self.of else 0.0

    @property
    def percent(self) -> str:
        return f"{self.share:.0%}"

    @property
    def used(self) -> float:
        """Of a hundred, to draw."""
        return round(min(self.share, 1.0) * 100, 1)


@dataclass(frozen=True, slots=True)
class Sharer:
    """A tenant among those who were served in the last minutes, or want to be."""

    row: Row
    worth: Part
    """Its weight, of the weights of all of them."""
    running: Part
    ended: Part
    run_seconds: Part
    is_this: bool

    @property
    def has_more_than_it_is_worth(self) -> bool:
        return self.row.is_over_share(int(self.running.of))

    @property
    def is_starved(self) -> bool:
        """It waits, not for itself, and was given less than it is worth."""
        got = max(self.running.share, self.run_seconds.share)
        return self.row.is_kept_waiting and got < self.worth.share


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Everything the page of a tenant shows, as of one instant."""

    row: Row
    sharers: list[Sharer]
    has_tasks: bool
    """Whether it has any, finished ones included."""
    failures: list[Failures]
    slots: list[Slot]
    last_hour: Slot

    @property
    def tenant(self) -> Tenant:
        return self.row.tenant

    @property
    def lanes(self) -> list[LaneFigures]:
        return sorted(self.row.figures.lanes, key=lambda lane: lane.queue)

    @property
    def in_flight(self) -> Part:
        return Part(self.row.running, self.tenant.max_in_flight or 0)

    @property
    def unfinished(self) -> Part:
        return Part(self.row.figures.unfinished, self.tenant.max_queued or 0)

    @property
    def failure_concern(self) -> Concern:
        return failing(self.last_hour)

    @property
    def verdict(self) -> str:
        """Why it waits, or who is starving whom, in a sentence; empty when nobody is."""
        this = next(one for one in self.sharers if one.is_this)
        if not this.row.is_worked:
            return "It waits: no worker is alive." if this.row.ready else ""
        others = [one for one in self.sharers if not one.is_this]
        starved = [one.row.tenant.slug for one in others if one.is_starved]
        greedy = [one.row.tenant.slug for one in others if one.has_more_than_it_is_worth]
        if this.has_more_than_it_is_worth and starved:
            wait = "waits" if len(starved) == 1 else "wait"
            return f"It has more than its weight is worth, while {', '.join(starved)} {wait}."
        if this.is_starved and greedy:
            more = f"{', '.join(greedy)} {'has' if len(greedy) == 1 else 'have'} more"
            return f"It waits, with less than its weight is worth, while {more}."
        if this.row.latency is not None and this.row.is_at_cap:
            return "It waits for itself: it is at its max_in_flight."
        return ""


def read(tenant_id: int, pauses: list[Pause], now: datetime, period: Period) -> Standing | None:
    """As of `now`. None: there is no such tenant."""
    leases, lately = read_leases(now), _lately(now)
    rows = _rows(tenant_id, pauses, now, leases, lately)
    if tenant_id not in rows:
        return None
    tenant = rows[tenant_id].tenant
    slots, last_hour = read_series(period, now, tenant)
    latest = failures.latest_of(tenant)
    return Standing(
        row=rows[tenant_id],
        sharers=_sharers(tenant_id, rows, lately, leases.total),
        has_tasks=bool(latest),
        failures=failures.of(tenant, latest),
        slots=slots,
        last_hour=last_hour,
    )


class _Done(NamedTuple):
    """By one tenant, lately."""

    weight: int
    ended: int = 0
    run_seconds: float = 0.0


def _lately(now: datetime) -> dict[int, _Done]:
    minutes = Throughput.objects.filter(minute__gt=now - LATELY).order_by()
    groups = minutes.values_list("tenant_id", "tenant__weight")
    sums = groups.annotate(Sum("ended"), Sum("run_seconds"))
    return {pk: _Done(*figures) for pk, *figures in sums}


def _rows(
    tenant_id: int,
    pauses: list[Pause],
    now: datetime,
    leases: Leases,
    lately: Mapping[int, _Done],
) -> dict[int, Row]:
    """Of the tenant, and of those with whom it is worth comparing."""
    busy = sorted(leases.by_tenant, key=lambda pk: -leases.by_tenant[pk])[:SHARERS_SHOWN]
    ran = sorted(lately, key=lambda pk: -lately[pk].run_seconds)[:SHARERS_SHOWN]
    late = late_lanes(now).values("tenant")[:SHARERS_SHOWN]
    which = Tenant.objects.filter(Q(pk__in={tenant_id, *busy, *ran}) | Q(pk__in=late))
    found = survey_of(which, now, pauses, leases.by_lane)
    wanted = _weights(found, lately)
    is_worked = leases.are_worked(WorkerProcess.objects.all(), now)
    return {
        one.tenant.pk: Row(
            figures=one,
            now=now,
            pauses=[pause for pause in pauses if concerns(pause, one.tenant)],
            share=one.running / leases.total if leases.total else 0.0,
            due_share=one.tenant.weight / wanted if wanted else 1.0,
            is_worked=is_worked,
        )
        for one in found
    }


def _weights(found: Collection[TenantFigures], lately: Mapping[int, _Done]) -> int:
    """Of all who were served lately, or want to be."""
    weights = {pk: done.weight for pk, done in lately.items()}
    weights |= {one.tenant.pk: one.tenant.weight for one in found if one.ready or one.running}
    return sum(weights.values())


def _sharers(
    tenant_id: int, rows: Mapping[int, Row], lately: Mapping[int, _Done], all_running: int
) -> list[Sharer]:
    weights = _weights([row.figures for row in rows.values()], lately)
    ended = sum(done.ended for done in lately.values())
    run_seconds = sum(done.run_seconds for done in lately.values())
    sharers = []
    for pk, row in rows.items():
        done = lately.get(pk, _Done(row.tenant.weight))
        if not (pk == tenant_id or done.ended or row.running or row.ready):
            continue
        sharers.append(
            Sharer(
                row=row,
                worth=Part(row.tenant.weight, weights),
                running=Part(row.running, all_running),
                ended=Part(done.ended, ended),
                run_seconds=Part(done.run_seconds, run_seconds),
                is_this=pk == tenant_id,
            )
        )
    return sorted(sharers, key=lambda one: (-one.running.share, -one.run_seconds.share))
