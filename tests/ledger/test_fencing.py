"""At most one settlement per generation."""

from dataclasses import replace
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.errors import StaleLease
from scheduling.ledger.progress import Progress
from scheduling.ledger.values import Succeed
from scheduling.models import Lease, Refusal
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
    assert list(Refusal.objects.values_list("task", "generation", "verb", "refused_at")) == [
        (task_id, 1, "settle", at(61))
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


def test_stale_worker_commits_no_rows_of_its_own_either(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_b, priority=1)
    take(now=at(0))
    (task_id,) = put(tenant_a)
    (zombie,) = take()
    ledger.reap([lease for lease in ledger.held_leases() if lease.task_id == task_id], now=at(11))
    (current,) = take(now=at(60))

    with (
        pytest.raises(StaleLease) as refused,
        ledger.settle_with(zombie, Succeed, now=at(61)),
    ):
        Tenant.objects.create(slug="made-by-a-handler")

    assert refused.value.current == 2
    assert not Tenant.objects.filter(slug="made-by-a-handler").exists()
    assert list(Refusal.objects.values_list("task", "generation", "verb", "refused_at")) == [
        (task_id, 1, "settle", at(61))
    ]
    with ledger.settle_with(current, Succeed, now=at(62)):
        Tenant.objects.create(slug="made-by-a-handler")
    assert task(task_id).finished_at == at(62)


def test_each_lease_is_told_its_own_progress(tenant_a: Tenant) -> None:
    put(tenant_a, 3)
    claims = take(3)
    news = {claim.task_id: Progress(0.25 + place / 2) for place, claim in enumerate(claims[:2])}
    ledger.renew(claims, progress=news, now=at(1))
    told = [Lease.objects.get(pk=claim.task_id).progress for claim in claims]
    assert [one and one["fraction"] for one in told] == [0.25, 0.75, None]


def test_stale_worker_cannot_renew(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    claims = take(2)
    lost = next(lease for lease in ledger.held_leases() if lease.task_id == claims[0].task_id)
    ledger.reap([lost], now=at(11))
    renewal = ledger.renew(claims, now=at(12))
    assert [stale.task_id for stale in renewal.stale] == [claims[0].task_id]
    (renewed,) = ledger.held_leases()
    assert renewed.expires_at == renewal.expires_at == at(12) + ledger.LEASE
    assert renewed.seconds == ledger.LEASE.total_seconds()
    assert list(Refusal.objects.values_list("verb", "refused_at")) == [("renew", at(12))]


def test_reaper_that_read_before_a_renewal_ends_nothing(tenant_a: Tenant) -> None:
    put(tenant_a)
    claims = take()
    read = ledger.held_leases()
    ledger.renew(claims, now=at(9))
    assert ledger.reap(read, now=at(11)) == []
    assert len(ledger.held_leases()) == 1


def test_zombie_beside_its_successor_in_one_worker_spoils_nothing(tenant_a: Tenant) -> None:
    """The same process was given the task again while its own older run of it still goes on."""
    (task_id,) = put(tenant_a)
    worker = uuid4()
    (zombie,) = take(worker=worker)
    ledger.reap(ledger.held_leases(), now=at(11))
    (current,) = take(worker=worker, now=at(60))

    held = ledger.held_leases()
    assert len(ledger.renew([zombie], now=at(61)).stale) == 1
    assert ledger.held_leases() == held
    renewal = ledger.renew([current, zombie], now=at(61))
    assert [(stale.task_id, stale.generation) for stale in renewal.stale] == [(task_id, 1)]

    settling = say([current, zombie], Succeed(), now=at(62))
    assert [one.generation for one in settling.settled] == [2]
    assert [stale.generation for stale in settling.stale] == [1]
    assert (task(task_id).state, task(task_id).attempts) == (TaskState.SUCCEEDED, 2)


def test_another_worker_cannot_settle_what_is_not_its_own(tenant_a: Tenant) -> None:
    put(tenant_a)
    (claim,) = take()
    held = ledger.held_leases()
    thief = replace(claim, worker=uuid4())
    assert len(say(thief, Succeed(), now=at(1)).stale) == 1
    assert len(ledger.renew([thief], now=at(1)).stale) == 1
    assert ledger.held_leases() == held


def test_a_generation_that_is_still_to_come_settles_nothing(tenant_a: Tenant) -> None:
    put(tenant_a)
    (claim,) = take()
    assert len(say(replace(claim, generation=2), Succeed(), now=at(1)).stale) == 1


def test_stale_worker_of_a_task_that_is_gone_is_refused_all_the_same(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, max_attempts=1)
    (claim,) = take()
    ledger.reap(ledger.held_leases(), now=at(11))
    ledger.discard([task_id])
    assert len(say(claim, Succeed(), now=at(12)).stale) == 1
    assert not Refusal.objects.exists()


def test_expiry_alone_takes_no_lease_away(tenant_a: Tenant) -> None:
    """Only a reaper ends leases; a worker that was slow, or whose clock was set, still holds its own."""
    put(tenant_a)
    (claim,) = take()
    assert take(now=at(3600)) == []
    renewal = ledger.renew([claim], now=at(3600))
    assert renewal.stale == []
    assert renewal.expires_at == at(3600) + ledger.LEASE
    assert len(say(claim, Succeed(), now=at(3601)).settled) == 1


def test_a_renewal_tells_which_tasks_are_to_stop(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    first, second = take(2)
    ledger.cancel([second.task_id], now=at(1))
    renewal = ledger.renew([first, second], now=at(2))
    assert renewal.cancel_requested == {second.task_id}


def test_a_renewal_tells_of_no_task_that_it_did_not_renew(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    mine, other = take(2)
    ledger.cancel([other.task_id], now=at(1))
    assert ledger.renew([mine], now=at(2)).cancel_requested == frozenset()


def test_a_renewal_beside_the_success_of_its_own_claim_is_no_refusal(tenant_a: Tenant) -> None:
    put(tenant_a)
    (claim,) = take()
    say(claim, Succeed(), now=at(1))
    assert ledger.renew([claim], now=at(2)).stale == []
    assert not Refusal.objects.exists()


def test_a_renewal_of_nothing_renews_nothing(tenant_a: Tenant) -> None:
    put(tenant_a)
    take()
    before = ledger.held_leases()
    assert ledger.renew([], now=at(5)).stale == []
    assert ledger.held_leases() == before
