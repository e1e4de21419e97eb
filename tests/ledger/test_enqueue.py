"""Accepting tasks: all of a batch or none of it, in its order, part of the caller's transaction."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction

from scheduling import ledger
from scheduling.errors import InvalidTask, LimitExceeded
from scheduling.models import Intake, Lane, Schedule, Task
from scheduling.states import Readiness, TaskState
from tenants.models import Tenant
from tests.ledger.kit import START, at, new, put, run, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


class Mind(Exception):
    """Changed, before the transaction was over."""


@pytest.fixture(params=["new", "known"])
def tenant(request: pytest.FixtureRequest, tenant_a: Tenant) -> Tenant:
    """One that never enqueued before, and one whose lanes are known: a database may have a shorter way."""
    if request.param == "known":
        for queue in ("default", "mail"):
            put(tenant_a, queue=queue)
            run([*take(), *take()])
    return tenant_a


def test_a_task_is_stored_as_it_was_given(tenant: Tenant) -> None:
    (task_id,) = put(
        tenant,
        name="invoices.send",
        queue="mail",
        args=[1, "zwei", None, {"drei": [3.5]}],
        kwargs={"später": True},
        priority=-7,
        max_attempts=5,
        timeout_seconds=2.5,
        deadline=at(3600),
        trace_context="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        label="Auftrag für Zürich 4711",
    )
    stored = task(task_id)
    assert (stored.tenant, stored.name, stored.queue) == (tenant, "invoices.send", "mail")
    assert stored.args == [1, "zwei", None, {"drei": [3.5]}]
    assert stored.kwargs == {"später": True}
    assert (stored.priority, stored.max_attempts, stored.timeout_seconds) == (-7, 5, 2.5)
    assert (stored.deadline, stored.created_at) == (at(3600), START)
    assert stored.label == "Auftrag für Zürich 4711"
    assert stored.trace_context == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert (stored.state, stored.generation, stored.attempts) == (TaskState.QUEUED, 0, 0)


@pytest.mark.parametrize("together", [1, 2])
def test_tasks_of_two_tenants_for_one_queue_go_into_lanes_of_their_own(
    tenant_a: Tenant, tenant_b: Tenant, together: int
) -> None:
    for tenant in (tenant_a, tenant_b, tenant_a, tenant_b):
        put(tenant, together)
    lanes = Schedule.objects.values_list("task__tenant", "lane__tenant")
    assert set(lanes) == {(tenant_a.pk, tenant_a.pk), (tenant_b.pk, tenant_b.pk)}
    assert lanes.count() == 4 * together


@pytest.mark.parametrize("together", [1, 2])
def test_work_in_one_lane_makes_no_other_ready(tenant_a: Tenant, together: int) -> None:
    put(tenant_a, queue="empty")
    put(tenant_a, queue="filled")
    run(take(9))
    put(tenant_a, together, queue="filled")
    ready = Lane.objects.filter(readiness=Readiness.READY)
    assert list(ready.values_list("queue", flat=True)) == ["filled"]


def test_nothing_is_a_batch_too(tenant_a: Tenant) -> None:
    assert ledger.enqueue([]) == []


def test_answers_come_in_the_order_of_the_batch(tenant_a: Tenant, tenant_b: Tenant) -> None:
    batch = [
        new(tenant_b, queue="z"),
        new(tenant_a, queue="a", priority=9),
        new(tenant_b, queue="a", due_at=at(60)),
        new(tenant_a, queue="z"),
    ]
    answers = ledger.enqueue(batch, now=START)
    stored = [task(answer.task_id) for answer in answers]
    assert [(row.tenant_id, row.queue, row.priority) for row in stored] == [
        (one.tenant_id, one.queue, one.priority) for one in batch
    ]


def test_a_task_with_no_instant_is_due_at_once(tenant: Tenant) -> None:
    (task_id,) = put(tenant)
    schedule = Schedule.objects.get(pk=task_id)
    assert (schedule.due_at, schedule.readiness) == (START, Readiness.READY)


def test_a_task_due_at_this_very_instant_is_ready(tenant: Tenant) -> None:
    put(tenant, due_at=START)
    assert len(run(take())) == 1


def test_a_task_due_in_the_future_waits_until_then(tenant: Tenant) -> None:
    (task_id,) = put(tenant, due_at=at(60))
    assert Schedule.objects.get(pk=task_id).readiness == Readiness.NOT_DUE
    assert take(now=at(59.999999)) == []
    assert run(take(now=at(60))) == [task_id]


def test_a_task_due_in_the_past_keeps_the_instant_it_was_due_at(tenant: Tenant) -> None:
    (task_id,) = put(tenant, due_at=at(-60))
    (claim,) = take()
    assert (claim.task_id, claim.due_at) == (task_id, at(-60))


def test_a_waiting_task_of_the_far_future_keeps_nobody_from_running(tenant_a: Tenant) -> None:
    put(tenant_a, due_at=START + timedelta(days=5 * 365))
    (task_id,) = put(tenant_a)
    assert run(take(2)) == [task_id]


def test_a_tenant_that_does_not_exist_leaves_the_whole_batch_out(tenant_a: Tenant) -> None:
    nobody = Tenant(pk=tenant_a.pk + 1000)
    with pytest.raises(InvalidTask) as refusal:
        ledger.enqueue([new(tenant_a), new(nobody)], now=START)
    assert refusal.value.errors == {"tenant": "There is no such tenant."}
    assert not Task.objects.exists()
    assert not Lane.objects.exists()


def test_one_tenant_over_its_limit_leaves_the_whole_batch_out(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    Tenant.objects.filter(pk=tenant_b.pk).update(max_queued=1)
    with pytest.raises(LimitExceeded):
        ledger.enqueue([new(tenant_a), new(tenant_b), new(tenant_b)], now=START)
    assert not Task.objects.exists()
    assert not Intake.objects.filter(accepted__gt=0).exists()


def test_a_transaction_that_rolls_back_leaves_nothing(tenant_a: Tenant) -> None:
    def change_of_mind() -> None:
        with transaction.atomic():
            put(tenant_a, 3)
            raise Mind

    _expect(Mind, change_of_mind)
    assert not Task.objects.exists()
    assert not Intake.objects.filter(accepted__gt=0).exists()
    assert take() == []


def test_a_task_is_part_of_a_transaction_that_was_begun_by_hand(tenant: Tenant) -> None:
    before = Task.objects.count()
    transaction.set_autocommit(False)
    try:
        Tenant.objects.filter(pk=tenant.pk).update(name="begins it")
        put(tenant)
        transaction.rollback()
    finally:
        transaction.set_autocommit(True)
    assert Task.objects.count() == before


def test_a_savepoint_that_rolls_back_leaves_what_was_enqueued_around_it(tenant_a: Tenant) -> None:
    def change_of_mind() -> None:
        with transaction.atomic():
            put(tenant_a)
            raise Mind

    with transaction.atomic():
        (kept,) = put(tenant_a)
        _expect(Mind, change_of_mind)
    assert list(Task.objects.values_list("pk", flat=True)) == [kept]


def test_a_refusal_leaves_the_callers_transaction_usable(tenant_a: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=1)
    with transaction.atomic():
        (kept,) = put(tenant_a)
        with pytest.raises(LimitExceeded):
            put(tenant_a)
    assert list(Task.objects.values_list("pk", flat=True)) == [kept]


def _expect(error: type[Exception], action: Callable[[], None]) -> None:
    with pytest.raises(error):
        action()


def test_of_a_batch_for_one_lane_what_is_due_later_starts_later(tenant: Tenant) -> None:
    batch = [new(tenant, due_at=at(60)), new(tenant), new(tenant, due_at=at(60))]
    ids = [one.task_id for one in ledger.enqueue(batch, now=START)]
    assert [claim.task_id for claim in take(3)] == [ids[1]]
