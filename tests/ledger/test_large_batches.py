"""Batches of more ids than SQLite takes parameters (32,766)."""

from uuid import UUID, uuid4

import pytest

from scheduling import ledger
from scheduling.models import Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.ledger.kit import START, at, failing, put, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def among_strangers(*task_ids: UUID) -> list[UUID]:
    return [*(uuid4() for _ in range(40_000)), *task_ids]


def test_so_many_are_cancelled_at_once(tenant_a: Tenant) -> None:
    (waiting,) = put(tenant_a, queue="a")
    put(tenant_a, queue="b")
    (running,) = take(queues=["b"])
    answers = ledger.cancel(among_strangers(waiting, running.task_id), now=at(1))
    assert [one.state for one in answers[-3:]] == [None, TaskState.CANCELLED, TaskState.RUNNING]


def test_so_many_are_redriven_and_discarded_at_once(tenant_a: Tenant) -> None:
    (dead,) = put(tenant_a)
    say(take(), failing(retry_in=None))
    assert ledger.redrive(among_strangers(dead), now=at(1)) == 1
    say(take(now=at(1)), failing(retry_in=None), now=at(1))
    assert ledger.discard(among_strangers(dead)) == 1
    assert not Task.objects.exists()


def test_so_many_go_all_the_way(tenant_a: Tenant) -> None:
    """Each of them a row of its own, not only a name in the batch."""
    Tenant.objects.update(max_queued=None, max_in_flight=None, rate_per_second=None)
    count = 33_000
    task_ids = put(tenant_a, count)
    answers = ledger.cancel(task_ids, now=START)
    assert {one.state for one in answers} == {TaskState.CANCELLED}
    assert Task.objects.filter(state=TaskState.CANCELLED).count() == count
