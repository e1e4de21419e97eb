"""Inside a lane: priority, then due_at, then id. And what is never claimed at all."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.ledger.claim import A_FEW
from scheduling.models import Attempt, Lease, Schedule
from scheduling.states import DeadReason, TaskState
from tenants.models import Tenant
from tests.ledger.kit import LEASE, START, at, pause, put, run, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


LOOKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "beside a paused name": {},
    "expecting few": {"expects_few": True},
    "expecting few in some queues": {"expects_few": True, "queues": ["default", "mail"]},
    "expecting few of one tenant": {"expects_few": True, "queues": ["default"]},
}
"""A claim reads in one go what it wants of a lane, looks between what is held for what is not, or reads ahead."""


@pytest.fixture(params=LOOKS)
def look(request: pytest.FixtureRequest, tenant_a: Tenant, tenant_b: Tenant) -> dict[str, Any]:
    """How to take, and work around it that is not to be taken."""
    look = LOOKS[request.param]
    if request.param == "beside a paused name":
        pause(name="held")
        for tenant in (tenant_a, tenant_b):
            put(tenant, name="held", priority=100)
    if "queues" in look:
        put(tenant_a, priority=100, queue="other")
    if "one tenant" in request.param:
        put(tenant_b, priority=100)
        look = look | {"tenant": tenant_a}
    return look


def test_higher_priority_goes_first_whatever_came_before(
    tenant_a: Tenant, look: dict[str, Any]
) -> None:
    ids = {priority: put(tenant_a, priority=priority)[0] for priority in (0, -100, 100, 1, -1)}
    first = run(take(2, **look))
    assert first + run(take(3, **look)) == [ids[priority] for priority in (100, 1, 0, -1, -100)]


def test_among_equals_the_longest_due_goes_first(tenant_a: Tenant, look: dict[str, Any]) -> None:
    ids = {due: put(tenant_a, due_at=at(due))[0] for due in (-1, -3, -2)}
    first = run(take(2, **look))
    assert first + run(take(1, **look)) == [ids[due] for due in (-3, -2, -1)]


def test_among_equals_in_every_way_the_first_that_came_goes_first(
    tenant_a: Tenant, look: dict[str, Any]
) -> None:
    ids = put(tenant_a, 20)
    assert run(take(A_FEW, **look)) + run(take(16, **look)) == ids


def test_a_future_task_of_high_priority_does_not_stand_before_a_ready_one(
    tenant_a: Tenant, look: dict[str, Any]
) -> None:
    put(tenant_a, 3, priority=100, due_at=at(60))
    (ready,) = put(tenant_a, priority=-100)
    assert run(take(A_FEW, **look)) == [ready]


def test_one_at_a_time_is_the_same_order_as_all_at_once(tenant_a: Tenant) -> None:
    ids = [put(tenant_a, priority=priority)[0] for priority in (5, 9, 5, 0, 9)]
    one_by_one = [run(take())[0] for _ in ids]
    assert one_by_one == [ids[place] for place in (1, 4, 0, 2, 3)]


def test_a_promoted_task_takes_the_place_its_due_at_gives_it(tenant_a: Tenant) -> None:
    (later,) = put(tenant_a, due_at=at(20))
    (sooner,) = put(tenant_a, due_at=at(10))
    (now,) = put(tenant_a, due_at=at(15), now=at(15))
    assert run(take(3, now=at(20))) == [sooner, now, later]


def test_a_claim_takes_from_its_queues_only(tenant_a: Tenant, tenant_b: Tenant) -> None:
    (mail,) = put(tenant_a, queue="mail")
    (video,) = put(tenant_b, queue="video")
    (other,) = put(tenant_a, queue="other")
    assert run(take(9, queues=["mail"])) == [mail]
    assert run(take(9, queues=["mail", "video"])) == [video]
    assert run(take(9, queues=["nobody's"])) == []
    assert run(take(9)) == [other]


@pytest.mark.parametrize("count", [1, A_FEW - 1, A_FEW, A_FEW + 1])
@pytest.mark.parametrize("paused", [None, "demo.other"])
def test_whoever_expects_few_finds_as_many(
    tenant_a: Tenant, tenant_b: Tenant, count: int, paused: str | None
) -> None:
    if paused:
        pause(name=paused)
    held = put(tenant_a, name="demo.other")
    ids = [[*put(tenant_a), *put(tenant_b)] for _ in range(count)]
    found = sorted(run(take(99, expects_few=True)))
    assert found == sorted([one for pair in ids for one in pair] + ([] if paused else held))


def test_a_claim_of_nothing_takes_nothing(tenant_a: Tenant) -> None:
    put(tenant_a)
    assert take(0) == []
    assert not Lease.objects.exists()


def test_an_empty_ledger_gives_nothing_and_no_reason_to_look_again() -> None:
    assert ledger.claim(uuid4(), limit=4, now=START) == ledger.Claims([], contended=False)


def test_a_claim_tells_all_that_a_handler_needs(tenant_a: Tenant) -> None:
    (task_id,) = put(
        tenant_a,
        name="invoices.send",
        queue="mail",
        args=[1, "zwei"],
        kwargs={"drei": [None, 4.5]},
        max_attempts=5,
        timeout_seconds=2.5,
        deadline=at(3600),
        idempotency_key="k",
        trace_context="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        due_at=at(-1),
    )
    worker = uuid4()
    (claim,) = take(worker=worker)
    assert (claim.task_id, claim.worker, claim.generation) == (task_id, worker, 1)
    assert (claim.tenant_id, claim.tenant) == (tenant_a.pk, "tenant-a")
    assert (claim.name, claim.queue) == ("invoices.send", "mail")
    assert claim.arguments() == ([1, "zwei"], {"drei": [None, 4.5]})
    assert (claim.attempt, claim.max_attempts, claim.timeout_seconds) == (1, 5, 2.5)
    assert (claim.deadline, claim.idempotency_key) == (at(3600), "k")
    assert (claim.due_at, claim.acquired_at, claim.expires_at) == (at(-1), START, START + LEASE)
    assert claim.trace_context == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_claimed_task_runs_and_waits_no_more(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    (claim,) = take()
    assert task(task_id).state == TaskState.RUNNING
    assert not Schedule.objects.exists()
    lease = Lease.objects.get()
    assert (lease.task_id, lease.worker, lease.generation) == (task_id, claim.worker, 1)
    assert lease.expires_at - lease.acquired_at == LEASE
    assert take() == []


def test_lanes_that_turn_out_empty_hide_nobody(tenant_a: Tenant, tenant_b: Tenant) -> None:
    """Their tasks were cancelled; a claim finds out, and says that there may be more behind them."""
    for queue in range(40):
        ledger.cancel(put(tenant_a, queue=f"{queue}"), now=START)
    (of_b,) = put(tenant_b)
    looks = 0
    while not (found := ledger.claim(uuid4(), limit=1, now=START)).claims:
        assert found.contended
        looks += 1
    assert looks < 5
    assert run(found.claims) == [of_b]


# Deadlines that pass while a task waits


def test_a_task_past_its_deadline_is_a_dead_letter_and_never_starts(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, deadline=at(10))
    assert take(now=at(10)) == []
    late = task(task_id)
    assert (late.state, late.dead_reason) == (TaskState.DEAD, DeadReason.DEADLINE_PASSED)
    assert (late.finished_at, late.generation, late.attempts) == (at(10), 0, 0)
    assert not Attempt.objects.exists()


def test_a_task_just_before_its_deadline_starts(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, deadline=at(10))
    assert run(take(now=at(9.999999)), now=at(9.999999)) == [task_id]


def test_late_tasks_leave_their_places_to_those_behind_them(tenant_a: Tenant) -> None:
    put(tenant_a, 3, deadline=at(10))
    ids = put(tenant_a, 3)
    found = ledger.claim(uuid4(), limit=4, now=at(10))
    assert found.contended, "there is more behind the late ones"
    rest = ledger.claim(uuid4(), limit=4, now=at(10))
    assert run([*found.claims, *rest.claims], now=at(10)) == ids


def test_a_task_that_comes_due_after_its_deadline_is_told_dead_when_it_is_due(
    tenant_a: Tenant,
) -> None:
    (task_id,) = put(tenant_a, deadline=at(10), due_at=at(20))
    assert task(task_id).state == TaskState.QUEUED
    assert take(now=at(20)) == []
    assert task(task_id).dead_reason == DeadReason.DEADLINE_PASSED


def test_a_lease_is_as_long_as_it_was_asked_for(tenant_a: Tenant) -> None:
    put(tenant_a)
    (claim,) = ledger.claim(uuid4(), limit=1, lease=timedelta(seconds=7), now=START).claims
    assert claim.expires_at == at(7)
    assert [held.seconds for held in ledger.held_leases(claim.worker)] == [7.0]
