"""Owns how long attempts waited and ran: of each tenant, and over the last hour or day. For charts and metrics.

Read from what is counted by the minute and by the hour, never from history. An attempt counts
when it ended, so one that still waits or runs is not in it yet.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum

from django.db.models import Sum

from scheduling.models import Hour, Throughput
from scheduling.models.throughput import RAN, WAITED
from scheduling.spread import BOUNDS, Spread
from tenants.models import Tenant

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Timed(Enum):
    """What is timed of an attempt, by its columns: up to each bound, all of them, their seconds."""

    WAIT = (*WAITED, "ended", "wait_seconds")
    RUN = (*RAN, "ended", "run_seconds")


def spread_of(timed: Timed, figures: Mapping[str, float]) -> Spread:
    """Of one row, or of sums of several, by the names of their columns."""
    return _spread([figures[name] for name in timed.value])


def over_time(
    timed: Timed, *, since: datetime, step: timedelta, tenant: Tenant | None = None
) -> dict[datetime, Spread]:
    """By when they ended, in steps that begin at the full hour: the instants at which something did, in order.

    As far back as `totals.HOURS_KEPT`. What is older than `totals.MINUTES_KEPT` is known by the hour, so a
    chart of the last hour takes steps of a minute, one of the last day steps of an hour.
    `tenant` None: all of them together. Two statements.
    """
    minutes = Throughput.objects.filter(minute__gte=since).order_by()
    hours = Hour.objects.filter(hour__gte=since, of_tenant=tenant.pk if tenant else Hour.EVERYBODY)
    if tenant is not None:
        minutes = minutes.filter(tenant=tenant)
    sums: dict[datetime, list[float]] = {}
    for instant, *values in (
        *minutes.values_list("minute").annotate(*map(Sum, timed.value)),
        *hours.values_list("hour", *timed.value),
    ):
        start = instant - (instant - EPOCH) % step
        known = sums.get(start, [0.0] * len(values))
        sums[start] = [one + other for one, other in zip(known, values, strict=True)]
    return {start: _spread(sums[start]) for start in sorted(sums)}


def by_tenant(timed: Timed, *, since: datetime) -> dict[int, Spread]:
    """Of the tenants of which something ended, by their ids; no further back than `totals.MINUTES_KEPT`."""
    rows = Throughput.objects.filter(minute__gte=since).order_by().values_list("tenant_id")
    return {
        tenant_id: _spread(values) for tenant_id, *values in rows.annotate(*map(Sum, timed.value))
    }


def _spread(values: Sequence[float]) -> Spread:
    """In the order of the columns."""
    *up_to, count, seconds = values
    return Spread(dict(zip(BOUNDS, up_to, strict=True)), count, seconds)
