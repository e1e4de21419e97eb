"""Recurring tasks, watched tick by tick. Time is moved by hand, as in the other tests of the ledger."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from scheduling import ledger
from scheduling.ledger.values import Claim
from scheduling.models import RecurringTask, Task, Tick
from tenants.models import Tenant
from tests.ledger.kit import START, run, take

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def recurring(tenant: Tenant, *, now: datetime = START, **fields: Any) -> RecurringTask:
    """One that is due every minute unless it says otherwise."""
    rule = {} if "every_seconds" in fields else {"cron": "* * * * *"}
    named = {"name": "nightly", "task_name": "demo.echo"}
    new = ledger.NewRecurring(tenant_id=tenant.pk, **{**named, **rule, **fields})
    return ledger.create_recurring(new, now=now)


def fire(now: datetime) -> int:
    """Fire as a worker does: again for as long as anything comes of it. Answers how many tasks were made."""
    made = 0
    while (fired := ledger.fire_due(now=now)).fired or fired.looked_at:
        made += fired.fired
    return made


def told(row: RecurringTask, **only: Any) -> list[tuple[str, str | None]]:
    """Its ticks, as (time of day in UTC, outcome)."""
    ticks = Tick.objects.filter(recurring=row, **only).order_by("at", "pk")
    return [(f"{tick.at.astimezone(UTC):%H:%M}", tick.outcome) for tick in ticks]


def outcomes(row: RecurringTask) -> dict[str, int]:
    """How many of its ticks came to what."""
    counts: dict[str, int] = {}
    for outcome, count in Tick.objects.filter(recurring=row).values_list("outcome", "count"):
        counts[outcome or "waits"] = counts.get(outcome or "waits", 0) + count
    return counts


def reasons(row: RecurringTask) -> list[str]:
    ticks = Tick.objects.filter(recurring=row).exclude(reason="").order_by("at", "pk")
    return list(ticks.values_list("reason", flat=True))


def again(row: RecurringTask) -> RecurringTask:
    """As the ledger has it now."""
    return RecurringTask.objects.get(pk=row.pk)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def tasks() -> list[UUID]:
    return list(Task.objects.order_by("pk").values_list("pk", flat=True))


def start_one(now: datetime) -> Claim:
    (claim,) = take(now=now)
    return claim


def work_off(now: datetime) -> int:
    """Let everything that waits be run; how many."""
    return len(run(take(1000, now=now), now=now))
