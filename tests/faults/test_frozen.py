"""A process that lives and gets nothing done is ended by its supervisor, which no other worker has to do."""

import os
import signal

from scheduling.models import WorkerProcess
from scheduling.states import DeadReason, TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, outcomes, pid_that_runs, wait_for_state
from tests.waiting import until

SHORT_LEASE = "--lease-seconds=0.5"
IMPATIENT = "tests.impatient_settings"
FOR_EVER = 3600.0


def test_stopped_process_is_ended_and_what_it_ran_is_run_by_its_replacement(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    workers = start_workers("--processes=1", SHORT_LEASE, settings=IMPATIENT)
    task_id = enqueue(tasks.hold, "a", tenant=tenant_a)
    effects.wait_for("a started 1")
    stopped = pid_that_runs(task_id)

    os.kill(stopped, signal.SIGSTOP)

    effects.wait_for("a started 2")
    assert f"Worker process {stopped} gets nothing done any more; ending it." in workers.said()
    assert outcomes(task_id) == ["lost"]
    effects.open_gate("a")
    wait_for_state(task_id, TaskState.SUCCEEDED)
    assert not WorkerProcess.objects.filter(pid=stopped).exists()


def test_idle_process_that_was_stopped_is_replaced(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SHORT_LEASE, settings=IMPATIENT)
    worker = until(lambda: WorkerProcess.objects.first())
    assert worker is not None

    os.kill(worker.pid, signal.SIGSTOP)

    wait_for_state(enqueue(tasks.effect, "after", tenant=tenant_a), TaskState.SUCCEEDED)


def test_handler_that_never_lets_the_interpreter_go_is_charged_and_dead_at_its_limit(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", "--threads=1", SHORT_LEASE, settings=IMPATIENT)
    task_id = enqueue(tasks.hold_the_interpreter, FOR_EVER, tenant=tenant_a, max_attempts=2)
    after = enqueue(tasks.effect, "after", tenant=tenant_a)

    assert wait_for_state(task_id, TaskState.DEAD).dead_reason == DeadReason.WORKER_LOST
    assert outcomes(task_id) == ["lost", "lost"]
    wait_for_state(after, TaskState.SUCCEEDED)
