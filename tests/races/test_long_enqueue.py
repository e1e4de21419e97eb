"""A caller enqueues into an idle lane, and keeps its transaction open: nobody but its own tenant waits for it.

SQLite has one writer at a time, and everybody waits for that.
"""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection

from scheduling import ledger
from scheduling.ledger.values import Claim, Fail, Failure, Release, Settlement, Succeed, Verdict
from scheduling.models import Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.races.kit import Session, put, roll_back, say, take

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.ledger,
    pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time."),
]

AGAIN = Fail(Failure("ValueError", "no luck"), timedelta(0))


@pytest.fixture(autouse=True)
def no_patience() -> Iterator[None]:
    """Whoever waits for the caller after all gets an error soon."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '2s'")
        yield
        cursor.execute("RESET lock_timeout")


@pytest.fixture
def caller() -> Iterator[Session]:
    with Session() as session:
        yield session


def running(tenant: Tenant) -> Claim:
    """The only task of an idle lane is running."""
    put(tenant)
    (claim,) = take(2)  # asks for more than there is, and so finds the lane empty
    return claim


def state(claim: Claim) -> str:
    return Task.objects.get(pk=claim.task_id).state


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("verdict", [Release(), AGAIN])
def test_what_is_to_run_again_is_settled_and_runs(
    verdict: Verdict, commits: bool, caller: Session, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    again, other = running(tenant_a), running(tenant_b)
    with caller.transaction():
        caller.do(partial(put, tenant_a))
        ledger.settle([Settlement(again, verdict), Settlement(other, Succeed())])
        assert state(other) == TaskState.SUCCEEDED
        assert take(5) == []
        if not commits:
            caller.do(roll_back)
    while ledger.promote().promoted:
        pass
    got = take(5)
    assert again.task_id in {claim.task_id for claim in got}
    assert len(got) == (2 if commits else 1)


def test_what_becomes_due_elsewhere_is_promoted(
    caller: Session, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    now = ledger.promote().now
    later = now + timedelta(minutes=1)
    for _ in range(3):
        put(tenant_a, due_at=now + timedelta(seconds=1))
    (free,) = put(tenant_b, due_at=now + timedelta(seconds=2))
    with caller.transaction():
        caller.do(partial(put, tenant_a))
        promotion = ledger.promote(now=later, limit=2)
        assert promotion.promoted == 1
        assert promotion.next_due is not None
        assert promotion.next_due < later
        assert [claim.task_id for claim in take(5)] == [free]
    assert ledger.promote(now=later).promoted == 3
    assert len(take(5)) == 4


def test_a_pause_is_lifted_and_others_are_claimed(
    caller: Session, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_a, name="demo.held")
    ledger.pause(name="demo.held", by="operator")
    assert take() == []
    with caller.transaction():
        caller.do(partial(put, tenant_a))
        ledger.resume(name="demo.held", by="operator")
        ledger.promote()
        (other,) = put(tenant_b)
        assert [claim.task_id for claim in take(5)] == [other]
    while ledger.promote().promoted:
        pass
    assert len(take(5)) == 2


def test_a_reaped_task_waits_for_nobody(caller: Session, tenant_a: Tenant) -> None:
    lost = running(tenant_a)
    with caller.transaction():
        caller.do(partial(put, tenant_a))
        (lease,) = ledger.held_leases()
        ledger.reap([lease], uncharged={lost.task_id})
        assert say([lost]).stale
