"""A claim that finds a lane empty while work is on its way into it: the work is not stranded."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from threading import Event

import pytest
from django.db import connection

from scheduling import ledger
from scheduling.ledger import Claims, Fail, Failure, Release
from scheduling.ledger.dialects.postgres import statements
from scheduling.models import Lane, Schedule
from scheduling.states import Readiness
from tenants.models import Tenant
from tests.races.kit import Session, at_once, put, roll_back, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

Give = Callable[[], object]
NO_DELAY = timedelta(0)


def enqueue(tenant: Tenant) -> Give:
    return partial(put, tenant)


def release(tenant: Tenant) -> Give:
    put(tenant)
    return partial(say, take(), Release())


def fail(tenant: Tenant) -> Give:
    put(tenant)
    return partial(say, take(), Fail(Failure("ValueError", "no luck"), NO_DELAY))


def redrive(tenant: Tenant) -> Give:
    ids = put(tenant)
    say(take(), Fail(Failure("ValueError", "no luck"), None))
    return partial(ledger.redrive, ids)


def promote(tenant: Tenant) -> Give:
    put(tenant)
    now = ledger.promote().now
    say(take(), ledger.Snooze(timedelta(seconds=60)))
    return partial(ledger.promote, now=now + timedelta(seconds=120))


def look() -> Claims:
    """Ask for more than there is, so that the lane is found empty."""
    return ledger.claim(ledger.Registration().id, limit=10)


ways = pytest.mark.parametrize("prepare", [enqueue, release, fail, redrive, promote])


@ways
def test_a_lane_is_not_retired_while_work_for_it_is_uncommitted(
    prepare: Callable[[Tenant], Give], tenant_a: Tenant
) -> None:
    give = prepare(tenant_a)
    (other,) = put(tenant_a)  # keeps the lane ready
    with Session() as giver, Session() as worker:
        with giver.transaction():
            giver.do(give)
            claiming = worker.start(look)
            worker.wait_for_a_lock_or(claiming)
        first = claiming.result()
    found = [claim.task_id for claim in first.claims]
    assert other in found
    assert len(found) == 2 or (first.contended and len(take()) == 1)


@ways
def test_work_that_comes_while_its_lane_is_being_retired_makes_it_ready_again(
    prepare: Callable[[Tenant], Give], tenant_a: Tenant
) -> None:
    give = prepare(tenant_a)
    put(tenant_a)
    with Session() as giver, Session() as worker:
        with worker.transaction():
            assert len(worker.do(look).claims) == 1
            giving = giver.start_and_wait_for_a_lock(give)
        giving.result()
    assert len(take()) == 1


@ways
def test_a_claim_that_fails_after_retiring_a_lane_leaves_it_ready(
    prepare: Callable[[Tenant], Give], tenant_a: Tenant
) -> None:
    give = prepare(tenant_a)
    put(tenant_a)
    with Session() as giver, Session() as worker:
        with worker.transaction():
            worker.do(look)
            giving = giver.start_and_wait_for_a_lock(give)
            worker.do(roll_back)
        giving.result()
    assert len(take(10)) == 2


def wait_in_line() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(7)")


@pytest.mark.skipif(
    connection.vendor == "sqlite", reason="Only PostgreSQL enqueues in one statement."
)
def test_an_enqueue_that_began_before_its_lane_was_retired_makes_it_ready_again(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees the ledger as it was when it began; only the lock on the lane tells it of what came since."""
    put(tenant_a)
    held_up = (
        "AND (SELECT count(*) FROM (SELECT pg_advisory_xact_lock(7)) AS turn) = 1 FOR KEY SHARE"
    )
    monkeypatch.setattr(
        statements, "ACCEPT_ONE", statements.ACCEPT_ONE.replace("FOR KEY SHARE", held_up)
    )
    with Session() as holder, Session() as giver, Session() as worker:
        with holder.transaction():
            holder.do(wait_in_line)
            giving = giver.start_and_wait_for_a_lock(partial(put, tenant_a))
            assert len(worker.do(look).claims) == 1
            assert Lane.objects.get().readiness == Readiness.NOT_DUE
        giving.result()
    assert len(take()) == 1


def test_a_lane_that_is_empty_is_retired_for_good(tenant_a: Tenant) -> None:
    put(tenant_a)
    first = look()
    assert (len(first.claims), first.contended) == (1, False)
    assert Lane.objects.get().readiness == Readiness.NOT_DUE


def test_a_thousand_tasks_through_lanes_that_are_empty_all_the_time_are_all_found(
    tenant_a: Tenant,
) -> None:
    Tenant.objects.update(max_queued=None, rate_per_second=None)
    arrived = Event()
    givers = 4

    def enqueue_one_by_one() -> int:
        for n in range(250):
            put(tenant_a, queue=f"queue-{n % 3}")
        return 0

    def claim_all() -> int:
        """A claim that is not contended and finds nothing, after the last arrival, has found everything."""
        count, over = 0, False
        while not over:
            everything_is_there = arrived.is_set()
            found = look()
            say(found.claims)
            count += len(found.claims)
            over = everything_is_there and not found.claims and not found.contended
        return count

    def watch_arrivals() -> int:
        at_once(*[enqueue_one_by_one] * givers)
        arrived.set()
        return 0

    counts = at_once(watch_arrivals, claim_all, claim_all)
    assert sum(counts) == givers * 250
    assert not Schedule.objects.exists()
