"""Promotion by any number of workers at once."""

from datetime import timedelta
from functools import partial

import pytest

from scheduling import ledger
from scheduling.models import Schedule
from scheduling.states import Readiness
from tenants.models import Tenant
from tests.races.kit import Session, many_at_once, put, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_five_at_once_promote_each_task_once(tenant_a: Tenant) -> None:
    Tenant.objects.update(max_in_flight=None)
    now = ledger.promote().now
    ids = [
        put(tenant_a, 100, due_at=now + timedelta(seconds=n), queue=f"q{n}") for n in range(1, 6)
    ]
    later = now + timedelta(minutes=1)

    def promote_all() -> int:
        promoted = 0
        while Schedule.objects.filter(readiness=Readiness.NOT_DUE).exists():
            promoted += ledger.promote(now=later, limit=30).promoted
        return promoted

    assert sum(many_at_once(5, promote_all)) == sum(map(len, ids))
    assert len(take(500)) == 500


def test_a_promotion_leaves_to_the_other_one_what_that_has_in_hand(tenant_a: Tenant) -> None:
    """Its tasks, and with them the lane that it is making ready: what else is due there comes after it."""
    now = ledger.promote().now
    put(tenant_a, 10, due_at=now + timedelta(seconds=1))
    promote = partial(ledger.promote, now=now + timedelta(minutes=1), limit=5)
    with Session() as one, Session() as two:
        with one.transaction():
            assert one.do(promote).promoted == 5
            second = two.start(promote)
            two.wait_for_a_lock_or(second)
        assert (
            second.result().promoted + ledger.promote(now=now + timedelta(minutes=1)).promoted == 5
        )
    assert len(take(10)) == 10


def test_a_task_that_is_just_promoted_can_be_cancelled(tenant_a: Tenant) -> None:
    now = ledger.promote().now
    ids = put(tenant_a, 3, due_at=now + timedelta(seconds=1))
    with Session() as promoter, Session() as caller:
        with promoter.transaction():
            promoter.do(partial(ledger.promote, now=now + timedelta(minutes=1)))
            cancelling = caller.start_and_wait_for_a_lock(partial(ledger.cancel, ids[:2]))
        assert [one.requested for one in cancelling.result()] == [True, True]
    assert [claim.task_id for claim in take(3)] == ids[2:]
