"""Scenarios 3, 4, 5: workers that fall silent and come back, and leases that must not run out."""

import os
import signal

import pytest

from scheduling import ledger
from scheduling.models import Attempt, Lease, Refusal, WorkerProcess
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, outcomes, pid_that_runs, the_task, wait_for_state
from tests.waiting import until

SHORT_LEASE = "--lease-seconds=1"
LEASE_TO_KEEP = "--lease-seconds=3"
"""Seconds of a lease that no stall of a busy machine may end."""


def test_stopped_worker_that_comes_back_and_succeeds_is_refused(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SHORT_LEASE)
    task_id = enqueue(tasks.hold, "a", tenant=tenant_a)
    effects.wait_for("a started 1")
    zombie = pid_that_runs(task_id)
    os.kill(zombie, signal.SIGSTOP)
    start_workers("--processes=1", LEASE_TO_KEEP)
    effects.wait_for("a started 2")
    effects.open_gate("a")
    wait_for_state(task_id, TaskState.SUCCEEDED)

    os.kill(zombie, signal.SIGCONT)

    effects.wait_for("a finished 1")
    until(lambda: Refusal.objects.filter(task=task_id, generation=1).exists())
    assert outcomes(task_id) == ["lost", "succeeded"]
    assert the_task(task_id).state == TaskState.SUCCEEDED


def test_stopped_worker_that_comes_back_beside_its_successor_notices_and_leaves_the_task_to_it(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SHORT_LEASE)
    task_id = enqueue(tasks.hold_until_told, "a", tenant=tenant_a)
    effects.wait_for("a started 1")
    zombie = pid_that_runs(task_id)
    os.kill(zombie, signal.SIGSTOP)
    start_workers("--processes=1", LEASE_TO_KEEP)
    effects.wait_for("a started 2")

    os.kill(zombie, signal.SIGCONT)

    effects.wait_for("a stopped 1")  # it noticed by itself that it is one
    until(lambda: Refusal.objects.filter(task=task_id, generation=1).exists())
    assert Lease.objects.get(pk=task_id).generation == 2
    ledger.cancel([task_id])
    wait_for_state(task_id, TaskState.CANCELLED)
    assert outcomes(task_id) == ["lost", "cancelled"]


def test_task_longer_than_its_lease_runs_once_while_it_is_renewed(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=2", LEASE_TO_KEEP)
    task_id = enqueue(tasks.compute, 7.5, tenant=tenant_a)

    wait_for_state(task_id, TaskState.SUCCEEDED)

    assert outcomes(task_id) == ["succeeded"]


def test_renewals_tell_how_far_a_handler_has_come(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SHORT_LEASE)
    task_id = enqueue(tasks.hold_and_tell, "a", tenant=tenant_a)

    told = until(lambda: Lease.objects.filter(pk=task_id, progress__isnull=False).first())

    assert told is not None
    assert told.progress == {"fraction": 0.25, "done": 1, "total": 4, "note": "pages"}
    effects.open_gate("a")
    wait_for_state(task_id, TaskState.SUCCEEDED)


def test_leases_survive_handlers_that_compete_for_the_interpreter(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", "--threads=8", LEASE_TO_KEEP)
    all_of_them = [enqueue(tasks.compute, 6.0, tenant=tenant_a) for _ in range(8)]

    for task_id in all_of_them:
        wait_for_state(task_id, TaskState.SUCCEEDED)

    assert list(Attempt.objects.values_list("outcome", flat=True)) == ["succeeded"] * 8


@pytest.mark.parametrize(
    ("lease", "seconds", "outcome"),
    [("--lease-seconds=6", 3.0, "succeeded"), (SHORT_LEASE, 4.0, "lost")],
)
def test_handler_that_holds_the_interpreter_loses_its_lease_only_after_the_length_of_it(
    lease: str, seconds: float, outcome: str, start_workers: Start, tenant_a: Tenant
) -> None:
    for _ in range(2):
        start_workers("--processes=1", lease)
    until(lambda: WorkerProcess.objects.count() == 2)

    task_id = enqueue(tasks.hold_the_interpreter, seconds, tenant=tenant_a, max_attempts=1)

    until(lambda: the_task(task_id).is_terminal)
    assert outcomes(task_id) == [outcome]
