"""Dead letters that several operators reach for at once."""

from functools import partial
from uuid import UUID

import pytest

from scheduling import ledger
from scheduling.errors import LimitExceeded
from scheduling.ledger import Fail, Failure
from scheduling.models import Schedule, Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.races.kit import Session, at_once, many_at_once, put, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def bury(tenant: Tenant, count: int) -> list[UUID]:
    """Make dead letters."""
    ids = put(tenant, count)
    say(take(count), Fail(Failure("ValueError", "no luck"), None))
    return ids


def test_twice_at_once_is_once(tenant_a: Tenant) -> None:
    ids = bury(tenant_a, 100)
    orders = [ids, ids[::-1]] * 2
    assert sum(at_once(*[partial(ledger.redrive, order) for order in orders])) == 100
    assert Schedule.objects.count() == 100


def test_a_second_redrive_waits_and_finds_nothing_dead(tenant_a: Tenant) -> None:
    ids = bury(tenant_a, 3)
    with Session() as one, Session() as two:
        with one.transaction():
            assert one.do(partial(ledger.redrive, ids)) == 3
            second = two.start_and_wait_for_a_lock(partial(ledger.redrive, ids))
        assert second.result() == 0


def test_a_dead_letter_that_is_just_redriven_cannot_be_discarded(tenant_a: Tenant) -> None:
    ids = bury(tenant_a, 3)
    with Session() as one, Session() as two:
        with one.transaction():
            one.do(partial(ledger.redrive, ids[:2]))
            discarding = two.start_and_wait_for_a_lock(partial(ledger.discard, ids))
        assert discarding.result() == 1
    assert set(Task.objects.values_list("pk", "state")) == {
        (pk, TaskState.QUEUED) for pk in ids[:2]
    }


def test_a_dead_letter_that_is_just_discarded_cannot_be_redriven(tenant_a: Tenant) -> None:
    ids = bury(tenant_a, 3)
    with Session() as one, Session() as two:
        with one.transaction():
            one.do(partial(ledger.discard, ids[:2]))
            redriving = two.start_and_wait_for_a_lock(partial(ledger.redrive, ids))
        assert redriving.result() == 1
    assert list(Task.objects.values_list("pk", flat=True)) == ids[2:]


def test_redrives_at_once_do_not_exceed_max_queued(tenant_a: Tenant) -> None:
    batches = [bury(tenant_a, 2) for _ in range(8)]
    Tenant.objects.update(max_queued=9)
    left = iter(batches)

    def redrive() -> int:
        try:
            return ledger.redrive(next(left))
        except LimitExceeded:
            return 0

    assert sum(many_at_once(8, redrive)) == 8
