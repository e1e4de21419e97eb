"""What is done about the leases of a process that died."""

from uuid import UUID, uuid4

import pytest

from scheduling import ledger
from scheduling.workers.undertaking import Death, end_leases
from tenants.models import Tenant
from tests.ledger.kit import outcomes, put, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def death(worker: UUID, *blamed: tuple[UUID, int]) -> Death:
    return Death(worker=worker, blamed=frozenset(blamed), note="Killed.", patience=1.0)


def test_those_to_blame_are_charged_and_the_others_are_released(tenant_a: Tenant) -> None:
    poison, bystander = put(tenant_a, 2)
    worker = uuid4()
    ledger.claim(worker, limit=2)

    assert end_leases(death(worker, (poison, 1))) == 0

    assert [outcomes(one) for one in (poison, bystander)] == [["lost"], ["released"]]
    assert task(poison).error == {"class": "WorkerLost", "message": "Killed."}


def test_a_claim_that_was_not_started_is_not_charged_for_a_zombie_of_its_task(
    tenant_a: Tenant,
) -> None:
    """The process was given the task again while its older run of it still went on, and that run ended it."""
    (task_id,) = put(tenant_a)
    worker = uuid4()
    ledger.claim(worker, limit=1)
    ledger.reap(ledger.held_leases(), uncharged={task_id})
    ledger.claim(worker, limit=1)

    end_leases(death(worker, (task_id, 1)))

    assert outcomes(task_id) == ["released", "released"]
    assert task(task_id).attempts == 0
