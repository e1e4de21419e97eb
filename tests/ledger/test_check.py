"""`checkledger` finds broken tasks, schedules, leases and attempts. Each is broken here by a hand on the database."""

from uuid import UUID, uuid4

import pytest

from scheduling import ledger
from scheduling.ledger import check, violations
from scheduling.models import Attempt, Lane, Lease, Schedule, Task
from scheduling.states import Outcome, TaskState
from tenants.models import Tenant
from tests.ledger.kit import START, failing, put, run, say, take, violations_of

pytestmark = pytest.mark.django_db(transaction=True)


def attempt(task_id: UUID, generation: int, outcome: Outcome = Outcome.FAILED) -> None:
    Attempt.objects.create(
        task_id=task_id,
        generation=generation,
        number=generation,
        worker=uuid4(),
        due_at=START,
        started_at=START,
        finished_at=START,
        outcome=outcome,
    )


def test_a_ledger_in_which_everything_has_happened_has_no_violations(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_a, 6, max_attempts=2)
    put(tenant_b, 2, queue="mail", name="held")
    ledger.pause(name="held", by="operator", now=START)
    claims = take(6)
    run(claims[:1])
    say(claims[1:3], failing())
    dead = say(claims[3], failing(retry_in=None)).settled[0]
    ledger.redrive([dead.task_id], now=START)
    ledger.reap(ledger.held_leases(claims[4].worker)[:1], now=START)
    ledger.cancel(put(tenant_a), now=START)
    take()
    assert check.violations() == []


def test_a_queued_task_without_a_schedule(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    Schedule.objects.all().delete()
    assert violations_of(check.a_task_waits_exactly_while_it_is_queued) == [
        f"demo.echo {task_id}: queued, and has no schedule"
    ]


def test_a_schedule_of_a_task_that_is_not_queued(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    Task.objects.update(state=TaskState.CANCELLED)
    assert violations_of(check.a_task_waits_exactly_while_it_is_queued) == [
        f"demo.echo {task_id}: has a schedule, and is not queued"
    ]


def test_a_running_task_without_a_lease(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    take()
    Lease.objects.all().delete()
    assert violations_of(check.a_task_is_leased_exactly_while_it_runs) == [
        f"demo.echo {task_id}: running, and has no lease"
    ]


def test_a_lease_of_a_task_that_does_not_run(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    take()
    Task.objects.update(state=TaskState.SUCCEEDED)
    assert violations_of(check.a_task_is_leased_exactly_while_it_runs) == [
        f"demo.echo {task_id}: has a lease, and does not run"
    ]


def test_a_task_that_is_over_without_an_end(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    run(take())
    Task.objects.update(finished_at=None)
    assert violations_of(check.a_task_is_finished_exactly_when_it_is_over) == [
        f"demo.echo {task_id}: over, and has no end"
    ]


def test_a_task_that_goes_on_after_its_end(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    Task.objects.update(finished_at=START)
    assert violations_of(check.a_task_is_finished_exactly_when_it_is_over) == [
        f"demo.echo {task_id}: has an end, and goes on"
    ]


def test_a_schedule_and_a_lease_without_a_task(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    take()
    Task.objects.all()._raw_delete("default")
    found = violations_of(check.every_row_belongs_to_a_task_and_a_lane)
    assert [sentence.rpartition(": ")[2] for sentence in found] == [
        "a schedule without a task",
        "a lease without a task",
    ]


def test_a_schedule_in_another_tenants_lane(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_b)
    lane = Lane.objects.get(tenant=tenant_b)
    (task_id,) = put(tenant_a)
    Schedule.objects.filter(pk=task_id).update(lane=lane)
    (found,) = violations_of(check.every_row_belongs_to_a_task_and_a_lane)
    assert found.endswith("a schedule in a lane that is not its task's")


def test_a_lease_in_a_lane_of_another_queue(tenant_a: Tenant) -> None:
    put(tenant_a, queue="mail")
    put(tenant_a, queue="video")
    take(queues=["mail"])
    Lease.objects.update(lane=Lane.objects.get(queue="video"))
    (found,) = violations_of(check.every_row_belongs_to_a_task_and_a_lane)
    assert found.endswith("a lease in a lane that is not its task's")


def test_a_lease_under_an_old_generation(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    take()
    Task.objects.update(generation=2)
    assert violations_of(check.generations_increase_and_end_once) == [
        f"{task_id} generation 1: leased under an old generation"
    ]


def test_an_attempt_of_a_generation_nobody_claimed(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    attempt(task_id, 1)
    assert violations_of(check.generations_increase_and_end_once) == [
        f"{task_id} generation 1: failed: an attempt of a generation that was never claimed"
    ]


def test_a_lease_under_a_generation_that_has_ended(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    take()
    attempt(task_id, 1)
    assert violations_of(check.generations_increase_and_end_once) == [
        f"{task_id} generation 1: leased under a generation that has ended"
    ]


def test_a_claim_that_ended_in_no_attempt(tenant_a: Tenant) -> None:
    waiting, running = put(tenant_a, 2)
    take(2)
    Lease.objects.filter(pk=waiting).delete()
    Task.objects.filter(pk=waiting).update(state=TaskState.QUEUED)
    Task.objects.filter(pk=running).update(generation=2)
    assert sorted(violations_of(check.every_generation_is_accounted_for)) == sorted(
        f"demo.echo {pk}: has claims that ended in no attempt" for pk in (waiting, running)
    )


def test_an_attempt_that_was_not_charged(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    say(take(), failing())
    Task.objects.update(attempts=0)
    assert violations_of(check.attempts_are_charged_once_and_within_the_allowance) == [
        f"demo.echo {task_id}: charged with another number of attempts"
    ]


def test_a_snooze_that_was_charged(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    say(take(), ledger.Release())
    Task.objects.update(attempts=1)
    assert violations_of(check.attempts_are_charged_once_and_within_the_allowance) == [
        f"demo.echo {task_id}: charged with another number of attempts"
    ]


def test_an_allowance_of_a_redriven_task_that_counts_the_former_run(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    say(take(), failing(retry_in=None))
    ledger.redrive([task_id], now=START)
    assert violations_of(check.attempts_are_charged_once_and_within_the_allowance) == []
    Task.objects.update(redriven_from=None)
    assert violations_of(check.attempts_are_charged_once_and_within_the_allowance) == [
        f"demo.echo {task_id}: charged with another number of attempts"
    ]


def test_two_successes_of_one_task(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    run(take())
    attempt(task_id, 2, Outcome.SUCCEEDED)
    assert violations_of(check.one_success_at_most) == [f"demo.echo {task_id}: succeeded twice"]


def test_a_ledger_with_a_thousand_faults_names_the_first_few(tenant_a: Tenant) -> None:
    put(tenant_a, 100)
    Schedule.objects.all().delete()
    found = violations_of(check.a_task_waits_exactly_while_it_is_queued)
    assert len(found) == violations.SHOWN
