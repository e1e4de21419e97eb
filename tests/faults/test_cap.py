"""Scenario 48: the cap on a tenant's tasks in flight holds while its workers are killed, and is nobody else's."""

import os
import signal
from contextlib import suppress

from scheduling.models import Attempt, Lease, WorkerProcess
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, wait_for_state
from tests.waiting import until

CAP = 2
ROUNDS = 20


def test_no_more_than_the_cap_was_ever_in_flight_though_workers_were_killed_all_the_time(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_in_flight=CAP)
    start_workers("--processes=3", "--threads=4", "--lease-seconds=300")
    task_ids = [
        enqueue(tasks.effect, str(number), tenant=tenant_a, max_attempts=100)
        for number in range(10 * ROUNDS)
    ]
    for round_ in range(ROUNDS):
        until(lambda: len(effects.lines()) > 5 * round_)  # noqa: B023  # looked at in this round only
        kill_somebody()

    for task_id in task_ids:
        wait_for_state(task_id, TaskState.SUCCEEDED)

    assert set(effects.lines()) == {str(number) for number in range(10 * ROUNDS)}
    assert most_at_once(tenant_a) <= CAP
    assert not Lease.objects.exists()


def test_tenant_capped_at_one_runs_one_by_one_on_two_workers_while_its_neighbour_proceeds(
    start_workers: Start, effects: Effects, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_in_flight=1)
    for _ in range(2):
        start_workers("--processes=1", "--threads=4")
    of_a = [enqueue(tasks.hold, "a", tenant=tenant_a)]
    effects.wait_for("a started 1")
    of_a += [enqueue(tasks.effect, f"a{number}", tenant=tenant_a) for number in range(10)]
    of_b = [enqueue(tasks.effect, f"b{number}", tenant=tenant_b) for number in range(10)]

    for task_id in of_b:
        wait_for_state(task_id, TaskState.SUCCEEDED)
    assert not any(line.startswith("a0") for line in effects.lines())
    assert Lease.objects.get().task_id == of_a[0]

    effects.open_gate("a")
    for task_id in of_a:
        wait_for_state(task_id, TaskState.SUCCEEDED)
    assert most_at_once(tenant_a) == 1


def kill_somebody() -> None:
    worker = until(lambda: WorkerProcess.objects.order_by("?").first())
    assert worker is not None
    with suppress(ProcessLookupError):
        os.kill(worker.pid, signal.SIGKILL)


def most_at_once(tenant: Tenant) -> int:
    """Of the tenant's attempts, by the ledger's own record of when each held its lease."""
    attempts = Attempt.objects.filter(task__tenant=tenant).values_list("started_at", "finished_at")
    changes = [change for began, ended in attempts for change in ((began, 1), (ended, -1))]
    most = current = 0
    for _, change in sorted(changes):  # at one instant ends come before beginnings
        current += change
        most = max(most, current)
    return most
