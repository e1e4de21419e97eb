"""One task per tenant and idempotency key."""

import pytest
from django.db import IntegrityError, transaction

from scheduling import ledger
from scheduling.errors import IdempotencyMismatch
from scheduling.ledger.values import Succeed
from scheduling.models import Intake, Task
from tenants.models import Tenant
from tests.ledger.kit import START, at, new, put, say, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_the_same_request_again_is_answered_with_the_task_that_is_there(tenant_a: Tenant) -> None:
    (first,) = ledger.enqueue([new(tenant_a, idempotency_key="k", fingerprint="f")], now=START)
    (again,) = ledger.enqueue([new(tenant_a, idempotency_key="k", fingerprint="f")], now=at(1))
    assert not first.replayed
    assert (again.task_id, again.replayed) == (first.task_id, True)
    assert Task.objects.count() == 1


def test_the_same_request_is_still_known_when_the_task_is_over(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, idempotency_key="k", fingerprint="f")
    say(take(), Succeed(), now=at(1))
    assert put(tenant_a, idempotency_key="k", fingerprint="f", now=at(2)) == [task_id]
    assert take(now=at(2)) == []


def test_another_request_under_the_key_is_refused_and_names_the_task(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, idempotency_key="k", fingerprint="f")
    with pytest.raises(IdempotencyMismatch) as refusal:
        ledger.enqueue(
            [new(tenant_a), new(tenant_a, idempotency_key="k", fingerprint="g")], now=START
        )
    assert (refusal.value.key, refusal.value.task_id) == ("k", task_id)
    assert Task.objects.count() == 1


def test_one_key_of_two_tenants_is_two_tasks(tenant_a: Tenant, tenant_b: Tenant) -> None:
    (of_a,) = put(tenant_a, idempotency_key="k", fingerprint="f")
    (of_b,) = put(tenant_b, idempotency_key="k", fingerprint="g")
    assert of_a != of_b
    assert task(of_b).tenant == tenant_b


def test_one_key_twice_in_a_batch_is_one_task(tenant_a: Tenant) -> None:
    twice = [new(tenant_a, idempotency_key="k", fingerprint="f")] * 2
    first, second = ledger.enqueue(twice, now=START)
    assert (first.replayed, second.replayed) == (False, True)
    assert first.task_id == second.task_id
    assert Task.objects.count() == 1


def test_one_key_for_two_requests_in_a_batch_stores_neither(tenant_a: Tenant) -> None:
    with pytest.raises(IdempotencyMismatch, match="two different tasks of one batch") as refusal:
        ledger.enqueue(
            [new(tenant_a, idempotency_key="k", fingerprint=body) for body in "fg"], now=START
        )
    assert (refusal.value.key, refusal.value.task_id) == ("k", None)
    assert not Task.objects.exists()


def test_a_replay_is_charged_to_no_limit(tenant_a: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=1, rate_per_second=1, rate_burst=1)
    (task_id,) = put(tenant_a, idempotency_key="k", fingerprint="f")
    assert put(tenant_a, 5, idempotency_key="k", fingerprint="f") == [task_id] * 5
    assert Intake.objects.get(pk=tenant_a.pk).accepted == 1


def test_a_replay_beside_a_new_task_charges_for_the_new_one_only(tenant_a: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=2)
    put(tenant_a, idempotency_key="k", fingerprint="f")
    answers = ledger.enqueue(
        [new(tenant_a, idempotency_key="k", fingerprint="f"), new(tenant_a)], now=START
    )
    assert [answer.replayed for answer in answers] == [True, False]
    assert Task.objects.count() == 2


def test_a_key_is_free_again_when_its_transaction_rolls_back(tenant_a: Tenant) -> None:
    with transaction.atomic():
        (gone,) = put(tenant_a, idempotency_key="k", fingerprint="f")
        transaction.set_rollback(True)
    (answer,) = ledger.enqueue([new(tenant_a, idempotency_key="k", fingerprint="g")], now=START)
    assert answer.task_id != gone
    assert not answer.replayed
    assert list(Task.objects.values_list("pk", flat=True)) == [answer.task_id]


def test_a_row_the_database_refuses_is_no_key_that_was_taken(tenant_a: Tenant) -> None:
    """Looking again helps against another transaction's key, and never against this."""
    put(tenant_a, idempotency_key="k", fingerprint="f")
    replay = new(tenant_a, idempotency_key="k", fingerprint="f")
    with pytest.raises(IntegrityError):
        ledger.enqueue([replay, new(tenant_a, priority=1000)], now=START)
    assert Task.objects.count() == 1
