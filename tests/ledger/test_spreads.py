"""How long attempts waited and ran, over time and by tenant."""

from datetime import timedelta
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling import clock, ledger, spread
from scheduling.ledger import totals
from scheduling.ledger.dialects import FIGURES
from scheduling.ledger.minutes import hour_of, minute_of
from scheduling.ledger.spreads import Timed, by_tenant, over_time, spread_of
from scheduling.ledger.values import Release, Succeed, Verdict
from scheduling.models import Throughput
from scheduling.spread import Spread
from tenants.models import Tenant
from tests.ledger.kit import at, failing, put, run, say, take

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def done(tenant: Tenant, *, now: float, waited: float, ran: float) -> None:
    put(tenant, now=at(now - waited - ran))
    run(take(now=at(now - ran)), now=at(now))


def test_each_count_holds_what_is_no_longer_than_its_bound() -> None:
    assert spread.counts([0, 0.01, 0.0101, 1, 5000]) == (2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4)
    assert spread.counts([]) == (0,) * len(spread.BOUNDS)


@given(st.lists(st.floats(0, 1800), min_size=1), st.floats(0.01, 1))
def test_a_quantile_lies_in_the_bucket_that_holds_it(seconds: list[float], share: float) -> None:
    found = Spread(
        dict(zip(spread.BOUNDS, spread.counts(seconds), strict=True)), len(seconds), sum(seconds)
    )
    told = found.quantile(share)
    true = sorted(seconds)[ceil(share * len(seconds)) - 1]
    bound = min(bound for bound in spread.BOUNDS if bound >= true)
    below = max((bound for bound in spread.BOUNDS if bound < true), default=0.0)
    assert told is not None
    assert below <= told <= bound


def test_of_what_took_longer_than_all_bounds_no_more_is_told() -> None:
    known = dict.fromkeys(spread.BOUNDS, 1.0)
    assert Spread(known, 4, 9000).quantile(0.9) == 1800
    assert Spread(known, 4, 9000).mean == 2250


def test_of_nothing_nothing_is_told() -> None:
    none = Spread(dict.fromkeys(spread.BOUNDS, 0.0), 0, 0)
    assert (none.quantile(0.5), none.mean) == (None, None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_waits_and_runs_are_told_minute_by_minute(tenant_a: Tenant, tenant_b: Tenant) -> None:
    done(tenant_a, now=30, waited=4, ran=0.3)
    done(tenant_a, now=70, waited=40, ran=0.3)
    done(tenant_b, now=71, waited=400, ran=2)
    waits = over_time(Timed.WAIT, since=at(0), step=MINUTE)
    assert [(start, one.count, round(one.seconds, 6)) for start, one in waits.items()] == [
        (at(0), 1, 4),
        (at(60), 2, 440),
    ]
    assert [waits[at(60)].up_to[bound] for bound in (30, 60, 300, 1800)] == [0, 1, 1, 2]
    of_b = over_time(Timed.RUN, since=at(0), step=MINUTE, tenant=tenant_b)
    assert {start: (one.count, one.up_to[1], one.up_to[5]) for start, one in of_b.items()} == {
        at(60): (1, 0, 1)
    }
    assert {key: one.count for key, one in by_tenant(Timed.WAIT, since=at(60)).items()} == {
        tenant_a.pk: 1,
        tenant_b.pk: 1,
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_every_kind_of_end_is_timed_alike(tenant_a: Tenant) -> None:
    """Whichever way a dialect writes it: successes alone, other verdicts, a reaped lease."""
    put(tenant_a, 4, now=at(-5))
    *claims, _ = take(4)
    verdicts: list[Verdict] = [Succeed(), failing(retry_in=None), Release()]
    for claim, verdict in zip(claims, verdicts, strict=True):
        say(claim, verdict, now=at(1))
    ledger.reap(ledger.held_leases(), now=at(1))
    row = {name: getattr(Throughput.objects.get(), name) for name in FIGURES}
    waits, runs = spread_of(Timed.WAIT, row), spread_of(Timed.RUN, row)
    assert (waits.count, waits.up_to[1], waits.up_to[5]) == (4, 0, 4)
    assert (runs.count, runs.up_to[0.5], runs.up_to[1]) == (4, 0, 4)


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_minutes_that_moved_are_told_by_the_hour(tenant_a: Tenant, tenant_b: Tenant) -> None:
    """They were in the last two hours once, and are charted for a day."""
    now = hour_of(minute_of(clock.now()))
    for minutes_ago in (190, 181, 180, 60):
        start = now - timedelta(minutes=minutes_ago)
        for tenant in (tenant_a, tenant_b):
            Throughput.objects.create(tenant=tenant, minute=start, ended=1, waited_30m=1)
    before = totals.read()
    assert ledger.prune_throughput() == 6
    assert totals.read() == before
    told = over_time(Timed.WAIT, since=now - timedelta(days=1), step=HOUR, tenant=tenant_a)
    assert [(now - start, one.count, one.up_to[1800]) for start, one in told.items()] == [
        (timedelta(hours=4), 2, 2),
        (timedelta(hours=3), 1, 1),
        (timedelta(hours=1), 1, 1),
    ]
    everybody = over_time(Timed.WAIT, since=now - timedelta(days=1), step=HOUR)
    assert [one.count for one in everybody.values()] == [4, 2, 2]
