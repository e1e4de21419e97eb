"""What the loop of a worker process does besides its steps."""

import os
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.ledger.values import NewTask
from scheduling.models import Lease, Task
from scheduling.states import TaskState
from scheduling.workers.board import Board
from scheduling.workers.doorbell import Doorbell
from scheduling.workers.options import Options
from scheduling.workers.pool import Pool
from tenants.models import Tenant


@pytest.mark.ledger
@pytest.mark.django_db(transaction=True)
def test_claim_whose_answer_was_lost_on_the_way_is_handed_back_after_the_outage(
    tenant_a: Tenant,
) -> None:
    ledger.enqueue([NewTask(tenant_id=tenant_a.pk, name="demo.echo")] * 2)
    worker, other = uuid4(), uuid4()
    pool = Pool(worker, Options(), Board(8), Doorbell(), os.pipe()[0])
    ledger.claim(worker, limit=1)  # committed, and the process never heard of it
    ledger.claim(other, limit=1)

    pool._hand_back_strangers()

    assert [lease.worker for lease in Lease.objects.all()] == [other]
    task = Task.objects.get(state=TaskState.QUEUED)
    assert task.attempts == 0
