"""What is said of a task is what a claim does about it."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries, Settings

from scheduling import ledger
from scheduling.ledger import Explanation, Why
from scheduling.ledger.explain import FURTHEST
from scheduling.models import Intake, Lane, Lease, Outflow, Pause, Schedule, Task, Throughput
from tenants.models import Tenant
from tests.ledger import kit
from tests.ledger.kit import START, at

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def explained(task_id: UUID, now: float = 0) -> Explanation:
    task = Task.objects.select_related("tenant", "schedule", "lease").get(pk=task_id)
    return ledger.explain(task, now=at(now))


def why(task_id: UUID, now: float = 0) -> Why:
    return explained(task_id, now).why


def test_a_task_alone_is_next(tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a)
    assert explained(task_id) == Explanation(Why.NEXT)


def test_what_runs_and_what_is_over_is_told(tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a)
    claims = kit.take()
    assert why(task_id) is Why.RUNNING
    kit.run(claims)
    assert why(task_id) is Why.FINISHED


def test_a_task_for_later_is_not_due_then_readied_then_next(tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a, due_at=at(60))
    assert why(task_id) is Why.NOT_DUE
    assert why(task_id, 60) is Why.BEING_READIED
    ledger.promote(now=at(60))
    assert why(task_id, 60) is Why.NEXT


@pytest.mark.parametrize("is_met", [False, True], ids=["unmet", "met by a claim"])
@pytest.mark.parametrize("part", ["everything", "tenant", "queue", "name"])
def test_every_pause_that_covers_it_is_told(tenant_a: Tenant, part: str, is_met: bool) -> None:
    [task_id] = kit.put(tenant_a)
    scope: dict[str, Any] = {"tenant": tenant_a, "queue": "default", "name": "demo.echo"}
    kit.pause(**({part: scope[part]} if part in scope else {}))
    kit.pause(queue="other")
    if is_met:
        assert kit.take_all() == []
    found = explained(task_id)
    assert (found.why, len(found.pauses)) == (Why.PAUSED, 1)


def test_a_tenant_at_its_cap_is_told(tenant_a: Tenant) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_in_flight=1)
    kit.put(tenant_a, 2)
    kit.take()
    waiting = Schedule.objects.get().task_id
    assert explained(waiting) == Explanation(Why.AT_CAP, in_flight=1)


def test_a_deadline_that_has_passed_is_told(tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a, deadline=at(5))
    assert why(task_id, 4) is Why.NEXT
    assert why(task_id, 5) is Why.DEADLINE_PASSED


def test_those_ahead_are_told_by_lane(tenant_a: Tenant, tenant_b: Tenant) -> None:
    kit.put(tenant_b, 5)
    first, second, third = kit.put(tenant_a, 3)
    kit.put(tenant_a, priority=-1)
    found = [explained(task_id) for task_id in (first, second, third)]
    assert [one.ahead_in_lane for one in found] == [0, 1, 2]
    others = [one.ahead_in_other_lanes for one in found]
    assert others in ([0, 1, 2], [1, 2, 3])


def test_a_paused_name_is_not_ahead_of_anybody(tenant_a: Tenant) -> None:
    kit.put(tenant_a, 3, name="demo.held")
    [task_id] = kit.put(tenant_a)
    assert explained(task_id).ahead_in_lane == 3
    kit.pause(name="demo.held")
    assert why(task_id) is Why.NEXT


def test_far_behind_is_counted_so_far_and_no_further(tenant_a: Tenant, tenant_b: Tenant) -> None:
    kit.put(tenant_b, FURTHEST + 20)
    *_, last = kit.put(tenant_a, FURTHEST + 20)
    found = explained(last)
    assert found.ahead_in_lane == FURTHEST
    assert found.ahead_in_other_lanes == FURTHEST // 2


def test_many_lanes_ahead_take_few_queries(
    tenant_a: Tenant, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(60):
        kit.put(tenant_a, queue=f"queue-{number}")
    kit.pause(queue="queue-7", name="demo.echo")
    (last,) = kit.put(tenant_a, queue="last")
    with django_assert_max_num_queries(10):
        found = explained(last)
    assert (found.why, found.ahead_in_other_lanes) == (Why.BEHIND_OTHERS, 59)


def test_a_task_for_remote_workers_stands_in_their_order(
    tenant_a: Tenant, tenant_b: Tenant, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": ["gpu"]}
    kit.put(tenant_b, 3)
    kit.put(tenant_b, 1, queue="gpu")
    first, second = kit.put(tenant_a, 2, queue="gpu")
    found = {explained(one).ahead_in_other_lanes for one in (first, second)}
    assert found in ({0, 1}, {1})
    [claim] = kit.take(queues=["gpu"])
    assert (claim.task_id == first) is (found == {0, 1})


def test_workers_on_no_register_are_not_counted_as_none(
    tenant_a: Tenant, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": ["gpu"]}
    (task_id,) = kit.put(tenant_a, queue="gpu")
    assert (explained(task_id).why, explained(task_id).workers) == (Why.NEXT, None)


def test_workers_that_serve_the_queue_are_counted(tenant_a: Tenant) -> None:
    [task_id] = kit.put(tenant_a)
    for queues in ((), ("default", "mail"), ("mail",)):
        ledger.register(ledger.Registration(queues=queues), now=START)
    assert explained(task_id, 29).workers == 2
    assert explained(task_id, 31).workers == 0


INSTANTS = st.sampled_from([0.0, 1.0, 2.0, 3.0])
STEPS = st.one_of(
    st.tuples(
        st.just("put"),
        st.booleans(),
        st.sampled_from(["mail", "default"]),
        st.sampled_from(["demo.echo", "demo.held"]),
        st.integers(-1, 1),
        INSTANTS,
        st.sampled_from([None, 1.5, 2.5]),
    ),
    st.tuples(
        st.just("pause"),
        st.booleans(),
        st.sampled_from(["", "mail"]),
        st.sampled_from(["", "demo.held"]),
        st.sampled_from([None, 2.0]),
    ),
    st.tuples(st.just("take"), st.integers(1, 3)),
    st.tuples(st.just("cap"), st.booleans(), st.sampled_from([None, 1, 2])),
)


@examples(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, min_size=3, max_size=25), moment=INSTANTS)
def test_a_claim_does_what_was_said(
    tenant_a: Tenant, tenant_b: Tenant, steps: list[tuple[object, ...]], moment: float
) -> None:
    """Whatever came before: the one said to be next is taken, and none that is said to be held."""
    begin_anew()
    tenants = (tenant_a, tenant_b)
    for step in steps:
        do(step, tenants)
    ledger.promote(now=at(moment))
    while True:
        said = {
            task.pk: ledger.explain(task, now=at(moment))
            for task in Task.objects.select_related("tenant", "schedule", "lease")
        }
        taken = ledger.claim(uuid4(), limit=1, now=at(moment))
        nexts = {task_id for task_id, one in said.items() if one.why is Why.NEXT}
        assert len(nexts) <= 1
        for claim in taken.claims:
            assert nexts == {claim.task_id}, said
        if not taken.claims and not taken.contended:
            assert not nexts, said
            break


def begin_anew() -> None:
    """Each example has the ledger for itself."""
    for model in (Lease, Schedule, Task, Lane, Pause, Intake, Outflow, Throughput):
        model._default_manager.all().delete()
    Tenant.objects.update(max_in_flight=None)


def do(step: tuple[object, ...], tenants: tuple[Tenant, Tenant]) -> None:
    match step:
        case ("put", bool(which), queue, name, priority, float(due), deadline):
            kit.put(
                tenants[which],
                queue=queue,
                name=name,
                priority=priority,
                due_at=at(due),
                deadline=at(deadline) if isinstance(deadline, float) else None,
            )
        case ("pause", bool(which), queue, name, seconds):
            kit.pause(
                tenant=tenants[which],
                queue=queue,
                name=name,
                duration=timedelta(seconds=seconds) if isinstance(seconds, float) else None,
            )
        case ("take", int(limit)):
            ledger.claim(uuid4(), limit=limit, now=START)
        case ("cap", bool(which), cap):
            Tenant.objects.filter(pk=tenants[which].pk).update(max_in_flight=cap)
