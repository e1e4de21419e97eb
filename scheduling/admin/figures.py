"""The figures of the dashboard, and how much an operator should mind each of them. Pure values."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum

from scheduling.models import Pause, WorkerProcess
from scheduling.models.worker import SILENT_AFTER
from tenants.models import Tenant

LATE_AFTER = timedelta(minutes=1)
VERY_LATE_AFTER = timedelta(minutes=10)
NEARLY_FULL = 0.8
TOTALS = ("waiting", "ready", "held_back", "running", "dead", "succeeded", "retried", "died")


class Concern(IntEnum):
    """How much an operator should mind."""

    NONE = 0
    NOTE = 1
    WARN = 2
    ALARM = 3

    @property
    def css(self) -> str:
        return self.name.lower()


@dataclass(slots=True)
class TenantFigures:
    """One tenant as it stands. Counts of the last hour are of attempts."""

    tenant: Tenant
    now: datetime
    waiting: int = 0
    ready: int = 0
    held_back: int = 0
    """Ready, in lanes that a pause stops."""
    running: int = 0
    dead: int = 0
    oldest_due: datetime | None = None
    """Of the ready tasks that no pause holds back."""
    succeeded: int = 0
    retried: int = 0
    died: int = 0
    pauses: list[Pause] = field(default_factory=list)

    @property
    def latency(self) -> timedelta | None:
        """The age of the oldest ready task that may start."""
        return max(self.now - self.oldest_due, timedelta()) if self.oldest_due else None

    @property
    def fill(self) -> float:
        """How much of `max_queued` is used: tasks in flight count too."""
        limit = self.tenant.max_queued
        return (self.waiting + self.running) / limit if limit else 0.0

    @property
    def is_paused(self) -> bool:
        return any(not pause.queue and not pause.name for pause in self.pauses)

    @property
    def is_at_cap(self) -> bool:
        cap = self.tenant.max_in_flight
        return cap is not None and self.running >= cap

    @property
    def waiting_concern(self) -> Concern:
        if self.fill >= 1:
            return Concern.ALARM
        return Concern.WARN if self.fill >= NEARLY_FULL else Concern.NONE

    @property
    def latency_concern(self) -> Concern:
        if self.latency is None or self.latency < LATE_AFTER:
            return Concern.NONE
        return Concern.ALARM if self.latency >= VERY_LATE_AFTER else Concern.WARN

    @property
    def concern(self) -> Concern:
        noted = Concern.NOTE if self.pauses or self.dead or self.is_at_cap else Concern.NONE
        return max(self.waiting_concern, self.latency_concern, noted)

    @property
    def is_quiet(self) -> bool:
        return not (self.waiting or self.running or self.dead or self.succeeded or self.retried)


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """One worker process and how much of it is busy."""

    process: WorkerProcess
    busy: int
    now: datetime

    @property
    def is_silent(self) -> bool:
        return self.now - self.process.seen_at > SILENT_AFTER


@dataclass(frozen=True, slots=True)
class Minute:
    """What was done in one minute, all tenants together."""

    start: datetime
    succeeded: int = 0
    retried: int = 0
    died: int = 0

    @property
    def ended(self) -> int:
        return self.succeeded + self.retried + self.died


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Everything the dashboard shows, as of one instant."""

    now: datetime
    tenants: list[TenantFigures]
    workers: list[WorkerFigures]
    minutes: list[Minute]
    overdue_leases: int

    def total(self, figure: str) -> int:
        return sum(getattr(row, figure) for row in self.tenants)

    @property
    def totals(self) -> dict[str, int]:
        return {figure: self.total(figure) for figure in TOTALS}

    @property
    def latency(self) -> timedelta | None:
        return max((row.latency for row in self.tenants if row.latency is not None), default=None)

    @property
    def slots(self) -> int:
        return sum(worker.process.slots for worker in self.workers if not worker.is_silent)
