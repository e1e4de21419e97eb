"""Owns what was done since a tenant began: its totals and the minutes that were not added to them yet.

Minutes are kept for a while and then move into the totals, so that reading both stays cheap. The sum of the
two never falls, which is what those who plot it rely on. Beside the totals a moving minute is added to its
hour, which the console shows a day of.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from operator import attrgetter

from django.db.models import F, Sum, Value

from scheduling.ledger.dialects import FIGURES, Dialect
from scheduling.ledger.minutes import hour_of
from scheduling.models import Hour, Throughput, Total

MINUTES_KEPT = timedelta(hours=2)
"""The console shows one hour of them."""
HOURS_KEPT = timedelta(days=2)


def read() -> dict[int, dict[str, float]]:
    """Everything since each tenant began, by its id: `FIGURES`, and `refused`.

    One statement, so a minute that moves meanwhile is counted once.
    """
    sums: dict[int, dict[str, float]] = {}
    for tenant_id, *values in _minutes_and_totals():
        known = sums.setdefault(tenant_id, dict.fromkeys((*FIGURES, "refused"), 0))
        for name, value in zip(known, values, strict=True):
            known[name] += value
    return sums


def _minutes_and_totals() -> Iterable[tuple[int, ...]]:
    minutes = Throughput.objects.order_by().values("tenant_id")
    sums = minutes.values_list("tenant_id", *(Sum(name) for name in FIGURES), Value(0))
    moved = Total.objects.values_list("tenant_id", *FIGURES, "refused")
    return sums.union(moved, all=True).order_by()


def add_minutes(db: Dialect, minutes: Iterable[Throughput]) -> None:
    """To the totals and to their hours, of minutes that this transaction has deleted.

    The rows of the totals are the last that it locks.
    """
    hours: dict[tuple[int, datetime], list[Throughput]] = {}
    tenants: dict[int, list[Throughput]] = {}
    for minute in minutes:
        for of_tenant in (minute.tenant_id, Hour.EVERYBODY):
            hours.setdefault((of_tenant, hour_of(minute.minute)), []).append(minute)
        tenants.setdefault(minute.tenant_id, []).append(minute)
    db.add_hours({key: _sums(its) for key, its in hours.items()})
    db.add_totals({tenant_id: _sums(its) for tenant_id, its in tenants.items()})


def _sums(minutes: Iterable[Throughput]) -> list[float]:
    figures = attrgetter(*FIGURES)
    return [sum(column) for column in zip(*map(figures, minutes), strict=True)]


def add_refusals(counts: Mapping[int, int]) -> None:
    """To the totals, by tenant. Part of the caller's transaction; these rows are the last that it locks."""
    in_order = sorted(counts)
    Total.objects.bulk_create(
        [Total(tenant_id=tenant_id) for tenant_id in in_order], ignore_conflicts=True
    )
    for tenant_id in in_order:
        Total.objects.filter(pk=tenant_id).update(refused=F("refused") + counts[tenant_id])
