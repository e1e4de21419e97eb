"""Batches of nothing but successes, which a database may settle by a shorter way than others."""

import json
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.ledger.values import Settlement, Succeed
from scheduling.models import Attempt, Refusal, Throughput
from scheduling.states import Outcome, TaskState
from tenants.models import Tenant
from tests.ledger.kit import START, at, put, say, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

RESULTS = [
    None,
    "null",
    "NULL",
    '"',
    "\\",
    '\\"',
    "{}",
    "a,b",
    [1, {"ü": "\u2028"}],
    "",
    {"a": [None]},
]


def test_each_task_keeps_the_result_it_was_settled_with(tenant_a: Tenant) -> None:
    put(tenant_a, len(RESULTS))
    claims = take(len(RESULTS))
    ledger.settle(
        [
            Settlement(claim, Succeed(json.dumps(result)))
            for claim, result in zip(claims, RESULTS, strict=True)
        ],
        now=at(1),
    )
    assert [task(claim.task_id).result for claim in claims] == RESULTS


def test_all_that_a_success_leaves_is_written(tenant_a: Tenant, tenant_b: Tenant) -> None:
    due = at(-3)
    put(tenant_a, 2, due_at=due)
    put(tenant_b)
    claims = take(3)
    settling = say(claims, Succeed(), now=at(2))

    assert {one.task_id for one in settling.settled} == {claim.task_id for claim in claims}
    assert {one.state for one in settling.settled} == {TaskState.SUCCEEDED}
    for claim in claims:
        row = task(claim.task_id)
        assert (row.state, row.attempts, row.finished_at) == (TaskState.SUCCEEDED, 1, at(2))
        attempt = Attempt.objects.get(task=claim.task_id)
        assert (attempt.generation, attempt.number, attempt.worker) == (1, 1, claim.worker)
        assert (attempt.due_at, attempt.started_at) == (claim.due_at, START)
        assert (attempt.finished_at, attempt.outcome) == (at(2), Outcome.SUCCEEDED)
    minute = Throughput.objects.get(tenant=tenant_a)
    assert (minute.minute, minute.succeeded) == (START.replace(second=0), 2)
    assert (minute.wait_seconds, minute.run_seconds) == (6.0, 4.0)


def test_successes_of_several_workers_are_settled_together(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    claims = [*take(worker=uuid4()), *take(worker=uuid4())]
    settling = say(claims, Succeed(), now=at(1))
    assert len(settling.settled) == 2
    assert {attempt.worker for attempt in Attempt.objects.all()} == {
        claim.worker for claim in claims
    }


def test_the_stale_one_is_refused_and_the_others_count(tenant_a: Tenant) -> None:
    put(tenant_a, 3)
    claims = take(3)
    held = {lease.task_id: lease for lease in ledger.held_leases()}
    ledger.reap([held[claims[1].task_id]], now=at(20))
    settling = say(claims, Succeed('"late"'), now=at(21))

    assert [stale.task_id for stale in settling.stale] == [claims[1].task_id]
    assert Refusal.objects.get().task_id == claims[1].task_id
    assert [task(claim.task_id).result for claim in claims] == ["late", None, "late"]


def test_what_is_said_twice_is_answered_as_settled_and_written_once(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    claims = take(2)
    say(claims, Succeed(), now=at(1))
    again = say(claims, Succeed(), now=at(2))
    assert len(again.settled) == 2
    assert Attempt.objects.count() == 2
    assert not Refusal.objects.exists()
