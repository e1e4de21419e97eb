"""Reads how much was done of late: the last hour by the minute, the last day by the hour.

Of one tenant, or of all of them together. Minutes are in Throughput until they move into their hours.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet, Sum, Value

from scheduling.ledger.minutes import minute_of
from scheduling.models import Hour, Throughput
from scheduling.models.throughput import TALLIED
from tenants.models import Tenant

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


class Period(StrEnum):
    """How far back to look."""

    HOUR = "hour"
    DAY = "day"

    @property
    def step(self) -> timedelta:
        return MINUTE if self is Period.HOUR else HOUR

    @property
    def steps(self) -> int:
        return 60 if self is Period.HOUR else 24

    def starts(self, now: datetime) -> list[datetime]:
        """Of its steps, the last of which is still running."""
        minute = minute_of(now)
        last = minute if self is Period.HOUR else minute.replace(minute=0)
        return [last - self.step * ago for ago in range(self.steps - 1, -1, -1)]

    @classmethod
    def asked(cls, text: str) -> "Period":
        return cls(text) if text in set(cls) else cls.HOUR


@dataclass(frozen=True, slots=True)
class Slot:
    """Attempts that ended in one minute, or in one hour, by what became of the task."""

    start: datetime
    succeeded: int = 0
    retried: int = 0
    dead: int = 0
    cancelled: int = 0
    lost: int = 0
    """Of those above: their worker died or fell silent."""
    ended: int = 0
    """Snoozed and released ones too."""
    wait_seconds: float = 0.0
    run_seconds: float = 0.0

    def __add__(self, other: "Slot") -> "Slot":
        return Slot(self.start, *(getattr(self, name) + getattr(other, name) for name in TALLIED))

    @property
    def failed(self) -> int:
        return self.retried + self.dead

    @property
    def mean_wait(self) -> timedelta | None:
        """From due to claimed."""
        return timedelta(seconds=self.wait_seconds / self.ended) if self.ended else None


def read(period: Period, now: datetime, tenant: Tenant | None = None) -> tuple[list[Slot], Slot]:
    """A slot for each step of the period, the silent ones too; and the last hour in one."""
    starts = period.starts(now)
    since = min(starts[0], now - HOUR)
    by_start: dict[datetime, Slot] = {}
    last_hour = Slot(now - HOUR)
    for kind, start, *figures in _parts(period, since, tenant):
        if kind == "minute" and start > now - HOUR:
            last_hour += Slot(start, *figures)
        slot_start = start if period is Period.HOUR else start.replace(minute=0)
        by_start[slot_start] = by_start.get(slot_start, Slot(slot_start)) + Slot(start, *figures)
    return [by_start.get(start, Slot(start)) for start in starts], last_hour


def _parts(period: Period, since: datetime, tenant: Tenant | None) -> QuerySet[Any, Any]:
    """Minutes, and for a day the hours that earlier minutes moved into: no minute is in both."""
    rows = Throughput.objects.filter(minute__gte=since).annotate(kind=Value("minute")).order_by()
    if tenant:
        rows = rows.filter(tenant=tenant)
    grouped = rows.values_list("kind", "minute")
    minutes = grouped.annotate(*(Sum(name) for name in TALLIED))
    if period is Period.HOUR:
        return minutes
    of = tenant.pk if tenant else Hour.EVERYBODY
    hours = Hour.objects.filter(hour__gte=since, of_tenant=of).annotate(kind=Value("hour"))
    moved = hours.order_by().values_list("kind", "hour", *TALLIED)
    return minutes.union(moved, all=True).order_by()
