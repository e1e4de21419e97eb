"""Rescheduling: what waits, and nothing else, is due at another instant or in another order."""

from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.models import Lease
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.ledger.kit import at, failing, pause, put, resume, run, run_all, say, take, task

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_a_task_of_the_future_is_made_due_now(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, due_at=at(3600))
    assert ledger.reschedule([task_id], due_at=at(0), now=at(1)) == {task_id}
    (claim,) = take(now=at(1))
    assert (claim.task_id, claim.due_at) == (task_id, at(1))


def test_a_ready_task_is_put_off(tenant_a: Tenant) -> None:
    put_off, other = put(tenant_a, 2)
    ledger.reschedule([put_off], due_at=at(60), now=at(1))
    assert run_all(now=59) == {other}
    assert run_all(now=60) == {put_off}


def test_what_is_due_already_keeps_its_place_when_it_is_asked_for_now(tenant_a: Tenant) -> None:
    first = put(tenant_a)
    second = put(tenant_a, now=at(1))
    assert ledger.reschedule(first, due_at=at(2), now=at(2)) == {*first}
    assert run(take(2, now=at(3)), now=at(3)) == [*first, *second]


def test_a_higher_priority_goes_first(tenant_a: Tenant) -> None:
    first, second = put(tenant_a, 2)
    ledger.reschedule([second], priority=7, now=at(1))
    assert task(second).priority == 7
    assert run(take(2, now=at(1)), now=at(1)) == [second, first]


def test_a_changed_priority_is_kept_through_a_retry(tenant_a: Tenant) -> None:
    first, second = put(tenant_a, 2)
    ledger.reschedule([second], priority=7, now=at(1))
    say(take(1, now=at(1)), failing(), now=at(1))
    assert [claim.task_id for claim in take(1, now=at(2))] == [second]
    assert task(first).state == TaskState.QUEUED


def test_a_retry_is_brought_forward_and_charged_as_before(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    say(take(), failing(retry_in=at(600) - at(0)))
    ledger.reschedule([task_id], due_at=at(1), now=at(1))
    (claim,) = take(now=at(1))
    assert (claim.task_id, claim.attempt, claim.generation) == (task_id, 2, 2)


def test_what_runs_or_is_over_or_unknown_is_left_alone(tenant_a: Tenant) -> None:
    over = put(tenant_a)
    run(take())
    running = put(tenant_a)
    take()
    asked = [*over, *running, uuid4()]
    assert ledger.reschedule(asked, due_at=at(60), priority=9, now=at(1)) == set()
    assert {task(task_id).priority for task_id in [*over, *running]} == {0}
    assert Lease.objects.get().due_at == at(0)


def test_a_deadline_that_comes_first_refuses_it(tenant_a: Tenant) -> None:
    (tight,) = put(tenant_a, deadline=at(60))
    (loose,) = put(tenant_a, deadline=at(61))
    assert ledger.reschedule([tight, loose], due_at=at(60), priority=1, now=at(1)) == {loose}
    assert task(tight).priority == 0
    assert ledger.reschedule([tight], due_at=at(50), now=at(60)) == set()
    assert run_all(now=1) == {tight}


def test_what_a_pause_holds_stays_held_and_runs_after_it(tenant_a: Tenant) -> None:
    ids = put(tenant_a, 2)
    pause(name="demo.echo")
    assert take(2) == []  # and both are set aside
    ledger.reschedule(ids[:1], due_at=at(30), now=at(1))
    ledger.reschedule(ids[:1], due_at=at(2), now=at(2))
    assert take(2, now=at(3)) == []
    resume(now=4, name="demo.echo")
    assert run_all(now=5) == {*ids}


def test_nothing_to_change_changes_nothing(tenant_a: Tenant) -> None:
    ids = put(tenant_a)
    assert ledger.reschedule(ids, now=at(1)) == {*ids}
    assert ledger.reschedule([], due_at=at(2), now=at(1)) == set()
    assert run_all(now=1) == {*ids}
