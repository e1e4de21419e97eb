"""Whatever is done to a recurring task and however long nobody looks: every instant is accounted for, once."""

from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduling import ledger
from scheduling.errors import LimitExceeded, Overlapping
from scheduling.ledger import check
from scheduling.models import RecurringTask, Task, Tick
from scheduling.recurrence import Recurrence
from tenants.models import Tenant
from tests.ledger.kit import START, failing, run, say, take
from tests.ledger.recurring.kit import fire, recurring

pytestmark = pytest.mark.django_db(transaction=True)

OVERLAPS = ("skip", "buffer_one", "allow", "cancel_other")
CATCHUPS = ("none", "one", "all")

steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["fire", "fire", "fire", "work", "fail", "pause", "resume", "edit", "run now"]
        ),
        st.sampled_from([0, 1, 30, 59, 60, 61, 240, 700, 3700, 100_000]),
    ),
    max_size=12,
)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    steps=steps,
    overlap=st.sampled_from(OVERLAPS),
    catchup=st.sampled_from(CATCHUPS),
    jitter=st.sampled_from([0, 45]),
    window=st.sampled_from([0, 300, 86_400]),
    max_queued=st.sampled_from([None, 2]),
    failures=st.sampled_from([None, 1]),
)
def test_every_instant_is_accounted_for_once(
    tenant_a: Tenant,
    steps: list[tuple[str, int]],
    overlap: str,
    catchup: str,
    jitter: int,
    window: int,
    max_queued: int | None,
    failures: int | None,
) -> None:
    clean_up()
    Tenant.objects.update(max_queued=max_queued)
    now = START
    row = recurring(
        tenant_a,
        cron="*/2 * * * *",
        overlap=overlap,
        catchup=catchup,
        jitter_seconds=jitter,
        catchup_window_seconds=window,
        pause_after_failures=failures,
    )
    for step, seconds in steps:
        now += timedelta(seconds=seconds)
        do(step, row, now)
        assert not Tick.objects.waiting().filter(recurring__paused=True).exists()
    for _ in range(2):  # the first look may find that it failed too often, and pause it
        ledger.pause_recurring(row.pk, False, now=now)
        fire(now)
    assert check.violations() == []
    told = Counter(instants(row))
    row.refresh_from_db()
    assert told == Counter(expected(row.recurrence, row.reached_at))
    assert row.reached_at > now - timedelta(seconds=120 + jitter) or row.reached_at == START


def do(step: str, row: RecurringTask, now: datetime) -> None:
    match step:
        case "fire":
            fire(now)
        case "work":
            run(take(50, now=now), now=now)
        case "fail":
            say(take(1, now=now), failing(retry_in=None), now=now)
        case "pause" | "resume":
            ledger.pause_recurring(row.pk, step == "pause", now=now)
        case "edit":
            row.timezone = "UTC" if row.timezone != "UTC" else "Europe/Berlin"  # the same instants
            ledger.edit_recurring(row.pk, {"timezone": row.timezone}, now=now)
        case "run now":
            with suppress(Overlapping, LimitExceeded):
                ledger.run_now(row.pk, now=now)


def instants(row: RecurringTask) -> list[datetime]:
    """Of all its ticks; runs are told one by one."""
    found: list[datetime] = []
    for tick in Tick.objects.filter(recurring=row, origin="rule"):
        found += [tick.at + timedelta(minutes=2 * n) for n in range(tick.count)]
        assert tick.until is None or tick.until == found[-1]
    return found


def expected(rule: Recurrence, until: datetime) -> list[datetime]:
    found = []
    for instant in rule.after(START):
        if instant.at > until:
            break
        found.append(instant.at)
    return found


def clean_up() -> None:
    """After the example before."""
    for row in RecurringTask.objects.all():
        ledger.delete_recurring(row.pk)
    while claims := take(100, now=START + timedelta(days=30)):
        run(claims, now=START + timedelta(days=30))
    ledger.cancel(list(Task.objects.values_list("pk", flat=True)))
