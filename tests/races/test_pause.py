"""The kill switch against claims under way: nothing starts once a pause has committed."""

from functools import partial
from threading import Event

import pytest

from scheduling import ledger
from scheduling.models import Lane, Lease, Pause
from scheduling.states import Readiness
from tenants.models import Tenant
from tests.races.kit import Session, at_once, flatten, put, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_a_pause_returns_only_when_the_claim_under_way_has_committed(tenant_a: Tenant) -> None:
    put(tenant_a)
    with Session() as worker, Session() as operator:
        with worker.transaction():
            assert len(worker.do(take)) == 1
            pausing = operator.start_and_wait_for_a_lock(partial(ledger.pause, by="operator"))
        assert pausing.result().in_flight == 1
    put(tenant_a)
    assert take() == []


def test_a_claim_that_waits_for_a_pause_to_commit_starts_nothing(tenant_a: Tenant) -> None:
    put(tenant_a)
    with Session() as worker, Session() as operator:
        with operator.transaction():
            operator.do(partial(ledger.pause, by="operator"))
            claiming = worker.start_and_wait_for_a_lock(take)
        assert claiming.result() == []


def test_ten_claimers_start_nothing_after_the_pause_returned(tenant_a: Tenant) -> None:
    put(tenant_a, 500)
    paused = Event()

    def pause() -> list[int]:
        receipt = ledger.pause(by="operator")
        paused.set()
        return [receipt.in_flight]

    def claim_until_paused() -> list[int]:
        started = 0
        while not paused.is_set():
            started += len(take())
        return [started]

    in_flight, *started = at_once(pause, *[claim_until_paused] * 10)

    assert Lease.objects.count() == sum(flatten(started)) == in_flight[0]


@pytest.mark.parametrize("scope", ["lane", "name"])
def test_a_resume_puts_back_what_a_claim_was_just_holding(tenant_a: Tenant, scope: str) -> None:
    (task_id,) = put(tenant_a)
    covered = {"lane": {"tenant": tenant_a}, "name": {"name": "demo.echo"}}[scope]
    ledger.pause(by="operator", **covered)  # type: ignore[arg-type]
    with Session() as worker, Session() as operator:
        with worker.transaction():
            assert worker.do(take) == []
            resuming = operator.start_and_wait_for_a_lock(
                partial(ledger.resume, by="operator", **covered)  # type: ignore[arg-type]
            )
        assert not resuming.result().paused
    assert not Lane.objects.filter(readiness=Readiness.HELD).exists()
    assert [claim.task_id for claim in take()] == [task_id]


def test_a_pause_renewed_while_it_is_put_back_stays_in_force(tenant_a: Tenant) -> None:
    """Promotion finds a pause that is over, and before it clears the row, the operator pauses anew."""
    put(tenant_a)
    over = ledger.pause(tenant=tenant_a, by="operator")
    Pause.objects.update(lifted_at=over.since)
    with Session() as promoter, Session() as operator:
        with operator.transaction():
            operator.do(partial(ledger.pause, tenant=tenant_a, by="operator"))
            promoting = promoter.start_and_wait_for_a_lock(ledger.promote)
        promoting.result()
    assert ledger.control(tenant=tenant_a).paused
    assert take() == []
