"""How long attempts waited and ran: counted up to each bound, by the minute and by the hour."""

from datetime import timedelta

import pytest

from scheduling import clock, ledger, spread
from scheduling.ledger import totals
from scheduling.ledger.dialects import FIGURES
from scheduling.ledger.minutes import hour_of, minute_of
from scheduling.ledger.spreads import Timed, spread_of
from scheduling.ledger.values import Release, Succeed, Verdict
from scheduling.models import Hour, Throughput
from scheduling.spread import Spread
from tenants.models import Tenant
from tests.ledger.kit import at, failing, put, run, say, take


def done(tenant: Tenant, *, now: float, waited: float, ran: float) -> None:
    put(tenant, now=at(now - waited - ran))
    run(take(now=at(now - ran)), now=at(now))


def spread_in(timed: Timed, tenant: Tenant, *, minute: float = 0) -> Spread:
    (row,) = Throughput.objects.filter(tenant=tenant, minute=at(minute)).values(*FIGURES)
    return spread_of(timed, row)


def test_each_count_holds_what_is_no_longer_than_its_bound() -> None:
    assert spread.counts([0, 0.01, 0.0101, 1, 5000]) == (2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4)
    assert spread.counts([]) == (0,) * len(spread.BOUNDS)


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_waits_and_runs_are_told_minute_by_minute(tenant_a: Tenant, tenant_b: Tenant) -> None:
    done(tenant_a, now=30, waited=4, ran=0.3)
    done(tenant_a, now=70, waited=40, ran=0.3)
    done(tenant_a, now=71, waited=400, ran=2)
    done(tenant_b, now=71, waited=400, ran=2)
    waits = [spread_in(Timed.WAIT, tenant_a, minute=minute) for minute in (0, 60)]
    assert [(one.count, round(one.seconds, 6)) for one in waits] == [(1, 4), (2, 440)]
    assert [waits[1].up_to[bound] for bound in (30, 60, 300, 1800)] == [0, 1, 1, 2]
    ran = spread_in(Timed.RUN, tenant_b, minute=60)
    assert (ran.count, ran.up_to[1], ran.up_to[5]) == (1, 0, 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_what_takes_exactly_as_long_as_a_bound_counts_up_to_it(tenant_a: Tenant) -> None:
    for seconds in (*spread.BOUNDS, 2 * spread.BOUNDS[-1]):
        done(tenant_a, now=30, waited=seconds, ran=seconds)
    up_to_each = list(range(1, len(spread.BOUNDS) + 1))
    for timed in Timed:
        assert list(spread_in(timed, tenant_a).up_to.values()) == up_to_each


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
    waits, runs = spread_in(Timed.WAIT, tenant_a), spread_in(Timed.RUN, tenant_a)
    assert (waits.count, waits.up_to[1], waits.up_to[5]) == (4, 0, 4)
    assert (runs.count, runs.up_to[0.5], runs.up_to[1]) == (4, 0, 4)


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_minutes_that_moved_are_told_by_the_hour(tenant_a: Tenant, tenant_b: Tenant) -> None:
    now = hour_of(minute_of(clock.now()))
    for minutes_ago in (190, 181, 180, 60):
        start = now - timedelta(minutes=minutes_ago)
        for tenant in (tenant_a, tenant_b):
            Throughput.objects.create(tenant=tenant, minute=start, ended=1, waited_30m=1)
    before = totals.read()
    assert ledger.prune_throughput() == 6
    assert totals.read() == before
    told = Hour.objects.order_by("hour").values_list("of_tenant", "hour", "ended", "waited_30m")
    two_hours = [now - timedelta(hours=hours) for hours in (4, 3)]
    for of_tenant, factor in ((tenant_a.pk, 1), (tenant_b.pk, 1), (Hour.EVERYBODY, 2)):
        assert list(told.filter(of_tenant=of_tenant)) == [
            (of_tenant, hour, count * factor, count * factor)
            for hour, count in zip(two_hours, (2, 1), strict=True)
        ]
