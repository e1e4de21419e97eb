"""The figures of the dashboard, and how much an operator should mind each of them. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum

from scheduling.admin.series import Slot
from scheduling.ledger.survey import TenantFigures
from scheduling.models import Pause, WorkerProcess
from tenants.models import Tenant

LATE_AFTER = timedelta(minutes=1)
VERY_LATE_AFTER = timedelta(minutes=10)
KEPT_WAITING_AFTER = timedelta(seconds=10)
NEARLY_FULL = 0.8
OVER_SHARE = 1.5
"""Times what its weight is worth."""
OVER_SHARE_BY = 2
"""Tasks at least: of a few slots any task is a large share."""

OFTEN_FAILED = 0.2
"""Of the attempts of the last hour that ended."""
OFTEN_FAILED_BY = 10
"""Attempts at least: one of three is bad luck."""


class Concern(IntEnum):
    """How much an operator should mind."""

    NONE = 0
    NOTE = 1
    WARN = 2
    ALARM = 3

    @property
    def css(self) -> str:
        return self.name.lower()


def lateness(oldest_ready: datetime | None, now: datetime) -> Concern:
    """Of a lane, or of a tenant, whose oldest ready task was due then."""
    if oldest_ready is None or now - oldest_ready < LATE_AFTER:
        return Concern.NONE
    return Concern.ALARM if now - oldest_ready >= VERY_LATE_AFTER else Concern.WARN


def failing(last_hour: Slot) -> Concern:
    is_often = last_hour.failed >= OFTEN_FAILED * (last_hour.succeeded + last_hour.failed)
    return Concern.WARN if is_often and last_hour.failed >= OFTEN_FAILED_BY else Concern.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One tenant as it stands."""

    figures: TenantFigures
    now: datetime
    last_hour: Slot | None = None
    """Its attempts, where they were read."""
    pauses: list[Pause] = field(default_factory=list)
    share: float = 0.0
    """Of all that runs."""
    due_share: float = 1.0
    """What its weight is worth among those who want to run something."""
    is_worked: bool = True
    """Whether anybody is there to run anything, of whomever."""

    @property
    def tenant(self) -> Tenant:
        return self.figures.tenant

    @property
    def waiting(self) -> int:
        return self.figures.waiting

    @property
    def ready(self) -> int:
        return self.figures.ready

    @property
    def held(self) -> int:
        return self.figures.held

    @property
    def running(self) -> int:
        return self.figures.running

    @property
    def dead(self) -> int:
        return self.figures.dead

    @property
    def latency(self) -> timedelta | None:
        """The age of the oldest task that may start."""
        oldest = self.figures.oldest_ready
        return max(self.now - oldest, timedelta()) if oldest else None

    @property
    def fill(self) -> float:
        """How much of `max_queued` is used: tasks in flight count too."""
        limit = self.tenant.max_queued
        return self.figures.unfinished / limit if limit else 0.0

    @property
    def is_paused(self) -> bool:
        return any(not pause.queue and not pause.name for pause in self.pauses)

    @property
    def is_at_cap(self) -> bool:
        cap = self.tenant.max_in_flight
        return cap is not None and self.running >= cap

    @property
    def is_kept_waiting(self) -> bool:
        """By others: not by its own cap, and not because nobody works."""
        late = self.latency is not None and self.latency >= KEPT_WAITING_AFTER
        return late and not self.is_at_cap and self.is_worked

    def is_over_share(self, all_running: int) -> bool:
        """Of leases that dead workers have left nobody has any use."""
        excess = (self.share - self.due_share) * all_running
        has_much = self.share > OVER_SHARE * self.due_share and excess >= OVER_SHARE_BY
        return has_much and self.is_worked

    @property
    def waiting_concern(self) -> Concern:
        if self.fill >= 1:
            return Concern.ALARM
        return Concern.WARN if self.fill >= NEARLY_FULL else Concern.NONE

    @property
    def latency_concern(self) -> Concern:
        return lateness(self.figures.oldest_ready, self.now)

    @property
    def failure_concern(self) -> Concern:
        return failing(self.last_hour) if self.last_hour else Concern.NONE

    @property
    def concern(self) -> Concern:
        noted = Concern.NOTE if self.pauses or self.dead or self.is_at_cap else Concern.NONE
        return max(self.waiting_concern, self.latency_concern, self.failure_concern, noted)

    @property
    def is_quiet(self) -> bool:
        return not (self.waiting or self.running or self.dead or self.last_hour)


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """One worker process and how much of it is busy."""

    process: WorkerProcess
    busy: int
    now: datetime

    @property
    def is_silent(self) -> bool:
        return self.process.is_silent(self.now)


@dataclass(frozen=True, slots=True)
class Sums:
    """Over all tenants."""

    tenants: int = 0
    unfinished: int = 0
    ready: int = 0
    """With what a pause holds back and no claim has met yet."""
    dead: int = 0
    running: int = 0
    overdue: int = 0
    """Leases that have run out, and were not ended yet."""
    refused: int = 0
    """Stale workers, of late."""
    recurring_disabled: int = 0
    recurring_overdue: int = 0

    @property
    def waiting(self) -> int:
        return max(self.unfinished - self.running, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """Everything the dashboard shows, as of one instant."""

    now: datetime
    pauses: list[Pause]
    sums: Sums
    tenants: list[Row]
    """Those who need a look, the most concerning first."""
    workers: list[WorkerFigures]
    last_hour: Slot
    slots: list[Slot]
    """Of the charts: the minutes of an hour, or the hours of a day."""
    storage: Mapping[str, int]

    @property
    def tenants_left(self) -> int:
        return max(self.sums.tenants - len(self.tenants), 0)

    @property
    def latency(self) -> timedelta | None:
        return max((row.latency for row in self.tenants if row.latency is not None), default=None)

    @property
    def ready(self) -> int:
        """What may start. A lane that a claim has not met since it was paused is counted as ready."""
        return max(self.sums.ready - self.held, sum(row.ready for row in self.tenants))

    @property
    def held(self) -> int:
        return sum(row.held for row in self.tenants)

    @property
    def lent_slots(self) -> int:
        """Of the workers that are heard of."""
        return sum(worker.process.slots for worker in self.workers if not worker.is_silent)

    @property
    def over_share(self) -> list[Row]:
        """Who has more than its weight is worth while somebody else is kept waiting."""
        over = [row for row in self.tenants if row.is_over_share(self.sums.running)]
        kept = {row.tenant.pk for row in self.tenants if row.is_kept_waiting}
        return [row for row in over if kept - {row.tenant.pk}]


def concerns(pause: Pause, tenant: Tenant) -> bool:
    """Pauses of a queue or a name of everyone are the banner's to show, not every tenant's."""
    return pause.tenant_id == tenant.pk or not (pause.tenant_id or pause.queue or pause.name)
