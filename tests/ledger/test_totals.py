"""What was done since a tenant began: minutes move into totals, and no sum ever falls."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from scheduling import ledger, spread
from scheduling.ledger import totals
from scheduling.ledger.dialects import FIGURES, Tally, dialect
from scheduling.ledger.values import Succeed
from scheduling.models import Hour, Refusal, Throughput, Total
from scheduling.workers.bookkeeper import Bookkeeper
from tenants.models import Tenant
from tests.ledger.kit import at, failing, put, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def done(tenant: Tenant, *, now: float) -> None:
    put(tenant, now=at(now))
    say(take(now=at(now + 1)), Succeed(), now=at(now + 3))


def test_minutes_that_moved_are_still_counted_once(tenant_a: Tenant, tenant_b: Tenant) -> None:
    for minute in range(3):
        done(tenant_a, now=60 * minute)
    done(tenant_b, now=0)
    before = totals.read()
    assert (
        before[tenant_a.pk] | {"succeeded": 3, "wait_seconds": 3, "run_seconds": 6}
        == before[tenant_a.pk]
    )
    assert ledger.prune_throughput(before=at(60)) == 2
    assert ledger.prune_throughput(before=at(120)) == 1
    assert totals.read() == before
    assert Throughput.objects.count() == 1
    assert Total.objects.get(tenant=tenant_a).succeeded == 2


def test_every_figure_of_a_minute_moves(tenant_a: Tenant) -> None:
    put(tenant_a, 3, max_attempts=1)
    say(take(), failing(retry_in=None), now=at(1))
    ledger.cancel([put(tenant_a)[0]], now=at(1))
    take()
    ledger.reap(ledger.held_leases(), now=at(2))
    put(tenant_a, max_attempts=2, priority=100)
    say(take(now=at(3)), failing(retry_in=timedelta(hours=1)), now=at(4))
    before = totals.read()[tenant_a.pk]
    assert before | {"retried": 1, "dead": 2, "cancelled": 1, "lost": 1} == before
    ledger.prune_throughput(before=at(600))
    assert totals.read()[tenant_a.pk] == before


@pytest.mark.parametrize("times", [1, 2, 3])
def test_each_figure_is_added_to_what_there_was(tenant_a: Tenant, times: int) -> None:
    db = dialect()
    waited, ran = (tuple(range(one, one + len(spread.BOUNDS))) for one in (20, 40))
    tally = Tally(1, 2, 3, 4, 5, 6, 7.5, 8.5, waited, ran)
    figures = tally.figures()
    with transaction.atomic():
        for _ in range(times):
            db.add_throughput({tenant_a.pk: tally}, at(0))
            db.add_hours({(tenant_a.pk, at(0)): figures})
            db.add_totals({tenant_a.pk: figures})
    for model in (Throughput, Hour, Total):
        told = model._default_manager.values_list(*FIGURES)
        assert list(told) == [tuple(times * figure for figure in figures)]


def test_a_minute_that_is_written_to_after_it_moved_adds_up(tenant_a: Tenant) -> None:
    """A clock that was set back."""
    done(tenant_a, now=0)
    ledger.prune_throughput(before=at(60))
    done(tenant_a, now=10)
    ledger.prune_throughput(before=at(60))
    assert totals.read()[tenant_a.pk]["succeeded"] == 2


def test_a_refusal_counts_for_ever_although_its_task_is_pruned(tenant_a: Tenant) -> None:
    put(tenant_a)
    (zombie,) = take()
    ledger.reap(ledger.held_leases(), now=at(11))
    say(zombie, Succeed(), now=at(12))
    ledger.renew([zombie], lease=timedelta(seconds=10), now=at(13))
    say(take(now=at(4000)), Succeed(), now=at(4000))
    assert Refusal.objects.count() == 2
    ledger.prune(tenant_a, keep=timedelta(0), now=at(5000))
    assert not Refusal.objects.exists()
    assert totals.read()[tenant_a.pk]["refused"] == 2


def test_a_worker_keeps_the_minutes_few(tenant_a: Tenant) -> None:
    """These are from a time before any that a clock shows now, or after; only the former go."""
    done(tenant_a, now=0)
    Throughput.objects.update(minute=at(0) - timedelta(days=400))
    bookkeeper = Bookkeeper()
    bookkeeper.run()
    assert not Throughput.objects.exists()
    assert totals.read()[tenant_a.pk]["succeeded"] == 1
    bookkeeper.run()
    assert totals.read()[tenant_a.pk]["succeeded"] == 1


def test_minutes_that_moved_stand_in_their_hour(tenant_a: Tenant, tenant_b: Tenant) -> None:
    for tenant, minute in ((tenant_a, 0), (tenant_a, 1), (tenant_b, 59), (tenant_a, 60)):
        done(tenant, now=60 * minute)
    ledger.prune_throughput(before=at(3600))
    ledger.prune_throughput(before=at(7200))
    rows = Hour.objects.order_by("of_tenant", "hour").values_list("of_tenant", "hour", "succeeded")
    assert list(rows) == [
        (Hour.EVERYBODY, at(0), 3),
        (Hour.EVERYBODY, at(3600), 1),
        (tenant_a.pk, at(0), 2),
        (tenant_a.pk, at(3600), 1),
        (tenant_b.pk, at(0), 1),
    ]


def test_hours_of_long_ago_go(tenant_a: Tenant) -> None:
    done(tenant_a, now=0)
    ledger.prune_throughput(before=at(60))
    done(tenant_a, now=3 * 86_400)
    ledger.prune_throughput(before=at(4 * 86_400))
    assert set(Hour.objects.values_list("hour", flat=True)) == {at(3 * 86_400)}


def test_hours_that_are_over_are_deleted_without_being_named(tenant_a: Tenant) -> None:
    """There may be one of each tenant, and SQLite takes only so many values in a statement."""
    done(tenant_a, now=0)
    over = at(0) - 2 * totals.HOURS_KEPT
    Hour.objects.bulk_create([Hour(of_tenant=n + 1, hour=over) for n in range(2_000)])
    with CaptureQueriesContext(connection) as statements:
        assert ledger.prune_throughput(before=at(60)) == 1
    assert not Hour.objects.filter(hour=over).exists()
    assert max(len(one["sql"]) for one in statements) < 2_000
