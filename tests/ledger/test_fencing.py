"""At most one settlement per generation."""

import pytest

from scheduling import ledger
from scheduling.ledger.values import Succeed
from scheduling.models import Refusal
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.ledger.kit import at, failing, outcomes, put, say, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_a_claim_that_succeeds_is_settled_once(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    (claim,) = take()
    settling = say(claim, Succeed('"done"'), now=at(1))
    assert [one.task_id for one in settling.settled] == [task_id]
    assert task(task_id).state == TaskState.SUCCEEDED
    assert task(task_id).result == "done"
    assert task(task_id).generation == 1
    assert outcomes(task_id) == ["succeeded"]


def test_stale_worker_cannot_settle_a_reclaimed_task(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    (zombie,) = take()
    ledger.reap(ledger.held_leases(), now=at(11))
    (current,) = take(now=at(60))
    assert (zombie.generation, current.generation) == (1, 2)

    refused = say(zombie, Succeed('"from the dead"'), now=at(61))

    assert [stale.generation for stale in refused.stale] == [1]
    assert task(task_id).state == TaskState.RUNNING
    assert list(Refusal.objects.values_list("task", "generation", "verb")) == [
        (task_id, 1, "settle")
    ]
    say(current, Succeed('"alive"'), now=at(62))
    assert task(task_id).result == "alive"
    assert outcomes(task_id) == ["lost", "succeeded"]


def test_stale_last_of_fifty_leaves_the_other_forty_nine_settled(tenant_a: Tenant) -> None:
    ids = put(tenant_a, 50)
    claims = take(50)
    last = next(lease for lease in ledger.held_leases() if lease.task_id == claims[-1].task_id)
    ledger.reap([last], now=at(11))
    settling = say(claims, Succeed(), now=at(12))
    assert len(settling.settled) == 49
    assert [stale.task_id for stale in settling.stale] == [claims[-1].task_id]
    assert sum(task(pk).state == TaskState.SUCCEEDED for pk in ids) == 49


def test_saying_it_again_changes_nothing_and_is_no_refusal(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    (claim,) = take()
    say(claim, failing(), now=at(1))
    again = say(claim, failing(), now=at(2))
    assert [one.task_id for one in again.settled] == [task_id]
    assert not again.stale
    assert not Refusal.objects.exists()
    assert outcomes(task_id) == ["failed"]


def test_stale_worker_cannot_renew(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    claims = take(2)
    lost = next(lease for lease in ledger.held_leases() if lease.task_id == claims[0].task_id)
    ledger.reap([lost], now=at(11))
    renewal = ledger.renew(claims, now=at(12))
    assert [stale.task_id for stale in renewal.stale] == [claims[0].task_id]
    assert [lease.expires_at for lease in ledger.held_leases()] == [renewal.expires_at]
    assert list(Refusal.objects.values_list("verb", flat=True)) == ["renew"]


def test_reaper_that_read_before_a_renewal_ends_nothing(tenant_a: Tenant) -> None:
    put(tenant_a)
    claims = take()
    read = ledger.held_leases()
    ledger.renew(claims, now=at(9))
    assert ledger.reap(read, now=at(11)) == []
    assert len(ledger.held_leases()) == 1
