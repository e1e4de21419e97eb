"""Scenario 52: what is paused does not start, whoever starts, and runs when it is resumed."""

from uuid import UUID

from scheduling import ledger
from scheduling.models import Attempt, WorkerProcess
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, wait_for_state
from tests.waiting import until


def test_nothing_starts_while_everything_is_paused_and_all_runs_after(
    start_workers: Start, effects: Effects, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    dead = dead_letter(start_workers, tenant_a)
    ledger.pause(by="operator", reason="maintenance")
    paused = [enqueue(tasks.effect, str(number), tenant=tenant_a) for number in range(20)]
    paused += [enqueue(tasks.effect, str(number), tenant=tenant_b) for number in range(20, 40)]
    ledger.redrive([dead])
    started = Attempt.objects.count()

    workers = start_workers("--processes=10", "--threads=1")
    until(lambda: WorkerProcess.objects.count() == 10)
    workers.stop()
    assert effects.lines() == []
    assert Attempt.objects.count() == started

    start_workers("--processes=2")
    ledger.resume(by="operator")
    for task_id in paused:
        wait_for_state(task_id, TaskState.SUCCEEDED)
    assert sorted(map(int, effects.lines())) == list(range(40))
    wait_for_state(dead, TaskState.DEAD)


def dead_letter(start_workers: Start, tenant: Tenant) -> UUID:
    workers = start_workers("--processes=1")
    task_id = enqueue(tasks.fail, tenant=tenant, max_attempts=1)
    wait_for_state(task_id, TaskState.DEAD)
    workers.stop()
    return task_id
