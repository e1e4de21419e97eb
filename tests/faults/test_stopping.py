"""Scenario 11: workers that are asked to stop, with time, with too little, and at once."""

import json
import os
import signal

from scheduling import ledger
from scheduling.models import Lease, WorkerProcess
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, outcomes, pid_that_runs, the_task, wait_for_state
from tests.waiting import until

SLOW_LEASE = "--lease-seconds=300"


def test_running_tasks_finish_within_grace_and_waiting_ones_are_left_to_others(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    options = ("--processes=2", "--threads=2", "--queues=default", "--grace-seconds=60")
    workers = start_workers(*options, SLOW_LEASE, "--json")
    running = [enqueue(tasks.hold, word, tenant=tenant_a) for word in "abcd"]
    for word in "abcd":
        effects.wait_for(f"{word} started 1")

    workers.signal(signal.SIGTERM)
    until(lambda: "SIGTERM" in workers.said())
    late = enqueue(tasks.effect, "late", tenant=tenant_a)
    for word in "abcd":
        effects.open_gate(word)
    workers.wait()

    assert [the_task(task_id).state for task_id in running] == [TaskState.SUCCEEDED] * 4
    assert the_task(late).state == TaskState.QUEUED
    assert workers.supervisor.returncode == 0
    assert not WorkerProcess.objects.exists()
    told = [json.loads(line) for line in workers.said().splitlines() if line.startswith("{")]
    assert [one["event"] for one in told] == [
        *("started", "process_started", "process_started"),
        *("stopping", "process_ended", "process_ended", "stopped"),
    ]
    assert (told[0]["pid"], told[0]["queues"]) == (workers.supervisor.pid, ["default"])
    assert {one["pid"] for one in told[1:3]} == {one["pid"] for one in told[4:6]}
    assert (told[3]["signal"], told[3]["at_once"]) == ("SIGTERM", False)
    assert (told[-1]["done"], told[-1]["in_flight"]) == (4, 0)


def test_what_cannot_finish_within_grace_is_released_uncharged(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    workers = start_workers("--processes=1", SLOW_LEASE, "--grace-seconds=0.2")
    task_id = enqueue(tasks.hold, "a", tenant=tenant_a, max_attempts=1)
    effects.wait_for("a started 1")

    workers.stop()

    task = the_task(task_id)
    assert (task.state, task.attempts, outcomes(task_id)) == (TaskState.QUEUED, 0, ["released"])
    assert "failed on" not in workers.said()
    start_workers("--processes=1")
    effects.wait_for("a started 2")


def test_second_signal_ends_everything_at_once_and_charges_nobody(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    workers = start_workers("--processes=2", "--threads=1", SLOW_LEASE, "--grace-seconds=60")
    running = [enqueue(tasks.hold, word, tenant=tenant_a, max_attempts=1) for word in "ab"]
    for word in "ab":
        effects.wait_for(f"{word} started 1")

    workers.signal(signal.SIGTERM)
    until(lambda: "SIGTERM" in workers.said())
    workers.signal(signal.SIGTERM)
    workers.wait()

    assert not Lease.objects.exists()
    assert [outcomes(task_id) for task_id in running] == [["released"], ["released"]]


def test_processes_whose_supervisor_was_killed_hand_back_what_they_hold_and_end(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    workers = start_workers("--processes=2", SLOW_LEASE, "--grace-seconds=0.2")
    task_id = enqueue(tasks.hold, "a", tenant=tenant_a)
    effects.wait_for("a started 1")

    workers.signal(signal.SIGKILL)
    workers.wait()

    assert outcomes(task_id) == ["released"]
    assert not WorkerProcess.objects.exists()


def test_process_that_was_asked_to_stop_by_itself_is_replaced(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SLOW_LEASE)
    task_id = enqueue(tasks.hold, "a", tenant=tenant_a)
    effects.wait_for("a started 1")
    os.kill(pid_that_runs(task_id), signal.SIGTERM)
    effects.open_gate("a")
    wait_for_state(task_id, TaskState.SUCCEEDED)

    after = enqueue(tasks.effect, "after", tenant=tenant_a)

    wait_for_state(after, TaskState.SUCCEEDED)


def test_running_task_learns_that_it_was_cancelled(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SLOW_LEASE)
    task_id = enqueue(tasks.hold_until_told, "a", tenant=tenant_a)
    effects.wait_for("a started 1")

    ledger.cancel([task_id])

    effects.wait_for("a stopped 1")
    wait_for_state(task_id, TaskState.CANCELLED)
    assert outcomes(task_id) == ["cancelled"]
