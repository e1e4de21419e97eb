"""Owns what was done since a tenant began: its totals and the minutes that were not added to them yet.

Minutes are kept for a while and then move into the totals, so that reading both stays cheap. The sum of the
two never falls, which is what those who plot it rely on. Beside the totals a moving minute is added to its
hour, which the console shows a day of.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db.models import F, Sum, Value

from scheduling.models import Hour, Throughput, Total

MINUTES_KEPT = timedelta(hours=2)
"""The console shows one hour of them."""
HOURS_KEPT = timedelta(days=2)
FIGURES = ("succeeded", "retried", "dead", "cancelled", "lost", "wait_seconds", "run_seconds")
"""What minutes and totals have in common."""

Figures = Mapping[str, float]


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


def add_minutes(minutes: Iterable[Throughput]) -> None:
    """To the totals and to their hours, of minutes that this transaction has deleted."""
    sums: dict[int, dict[str, float]] = {}
    hours: dict[tuple[int, datetime], dict[str, float]] = {}
    for minute in minutes:
        hour = minute.minute.replace(minute=0)
        for known in (
            sums.setdefault(minute.tenant_id, dict.fromkeys(FIGURES, 0)),
            hours.setdefault((minute.tenant_id, hour), dict.fromkeys(FIGURES, 0)),
            hours.setdefault((Hour.EVERYBODY, hour), dict.fromkeys(FIGURES, 0)),
        ):
            for name in FIGURES:
                known[name] += getattr(minute, name)
    _add_hours(hours)
    add(sums)


def _add_hours(figures: Mapping[tuple[int, datetime], Figures]) -> None:
    in_order = sorted(figures)
    Hour.objects.bulk_create(
        [Hour(of_tenant=tenant_id, hour=hour) for tenant_id, hour in in_order],
        ignore_conflicts=True,
    )
    for tenant_id, hour in in_order:
        grown = {name: F(name) + value for name, value in figures[tenant_id, hour].items()}
        Hour.objects.filter(of_tenant=tenant_id, hour=hour).update(**grown)


def add(figures: Mapping[int, Figures]) -> None:
    """To the totals, by tenant. Part of the caller's transaction; these rows are the last that it locks."""
    in_order = sorted(figures)
    Total.objects.bulk_create(
        [Total(tenant_id=tenant_id) for tenant_id in in_order], ignore_conflicts=True
    )
    for tenant_id in in_order:
        grown = {name: F(name) + value for name, value in figures[tenant_id].items()}
        Total.objects.filter(pk=tenant_id).update(**grown)
