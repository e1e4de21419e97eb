"""One idempotency key, many callers at once: one task."""

from functools import partial
from uuid import UUID

import pytest
from django.db import connection, transaction

from scheduling import ledger
from scheduling.errors import IdempotencyMismatch
from scheduling.ledger import Accepted, NewTask
from scheduling.models import Intake, Task
from tenants.models import Tenant
from tests.races.kit import Session, flatten, many_at_once, roll_back

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def enqueue(*tenants: Tenant, key: str = "order-1", fingerprint: str = "same") -> list[Accepted]:
    return ledger.enqueue(
        [
            NewTask(
                tenant_id=tenant.pk,
                name="demo.echo",
                idempotency_key=key,
                fingerprint=fingerprint,
            )
            for tenant in tenants
        ]
    )


def ids(answers: list[Accepted]) -> set[UUID]:
    return {answer.task_id for answer in answers}


def test_fifty_callers_with_one_key_get_the_same_task(tenant_a: Tenant) -> None:
    answers = flatten(many_at_once(50, partial(enqueue, tenant_a)))
    assert len(ids(answers)) == 1
    assert sum(answer.replayed for answer in answers) == 49
    assert Task.objects.count() == 1
    assert Intake.objects.get().accepted == 1


def test_callers_wait_for_a_slow_first_one_and_get_its_task(tenant_a: Tenant) -> None:
    with Session() as slow, Session() as quick:
        with slow.transaction():
            first = slow.do(partial(enqueue, tenant_a))
            second = quick.start_and_wait_for_a_lock(partial(enqueue, tenant_a))
        assert ids(second.result()) == ids(first)
        assert second.result()[0].replayed


@pytest.mark.skipif(
    connection.vendor == "sqlite", reason="There nobody writes beside another transaction."
)
def test_a_caller_in_a_transaction_that_was_begun_by_hand_gets_the_task_as_well(
    tenant_a: Tenant,
) -> None:
    """The statement that meets the key fails, and a failure would end the whole transaction."""
    with Session() as slow, Session() as quick:
        quick.do(partial(transaction.set_autocommit, False))
        with slow.transaction():
            first = slow.do(partial(enqueue, tenant_a))
            second = quick.start_and_wait_for_a_lock(partial(enqueue, tenant_a))
        assert ids(second.result()) == ids(first)
        quick.do(transaction.commit)


def test_a_caller_that_waited_for_one_that_rolled_back_has_its_own_task(tenant_a: Tenant) -> None:
    with Session() as slow, Session() as quick:
        with slow.transaction():
            gone = slow.do(partial(enqueue, tenant_a))
            second = quick.start_and_wait_for_a_lock(partial(enqueue, tenant_a))
            slow.do(roll_back)
        assert not second.result()[0].replayed
        assert ids(second.result()).isdisjoint(ids(gone))
    assert Task.objects.count() == Intake.objects.get().accepted == 1


def test_of_two_different_tasks_under_one_key_the_second_is_refused(tenant_a: Tenant) -> None:
    with Session() as slow, Session() as quick:
        with slow.transaction():
            slow.do(partial(enqueue, tenant_a))
            second = quick.start_and_wait_for_a_lock(
                partial(enqueue, tenant_a, fingerprint="another")
            )
        with pytest.raises(IdempotencyMismatch):
            second.result()
    assert Task.objects.count() == 1


def test_one_key_of_two_tenants_is_two_tasks_whoever_comes_first(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    answers = flatten(many_at_once(20, partial(enqueue, tenant_b, tenant_a)))
    assert len(ids(answers)) == 2
    assert Task.objects.filter(tenant=tenant_a).count() == 1
    assert Task.objects.filter(tenant=tenant_b).count() == 1


def test_a_key_taken_while_a_batch_was_waiting_is_replayed_and_the_rest_stored(
    tenant_a: Tenant,
) -> None:
    batch = [
        NewTask(tenant_id=tenant_a.pk, name="demo.echo", idempotency_key=key, fingerprint="same")
        for key in ("order-1", "order-2")
    ]
    with Session() as slow, Session() as quick:
        with slow.transaction():
            first = slow.do(partial(enqueue, tenant_a))
            second = quick.start_and_wait_for_a_lock(partial(ledger.enqueue, batch))
        replay, new = second.result()
    assert replay == Accepted(first[0].task_id, replayed=True)
    assert not new.replayed
    assert Task.objects.count() == Intake.objects.get().accepted == 2
