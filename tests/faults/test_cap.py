"""Scenario 48: the cap on a tenant's tasks in flight holds whatever becomes of them, and is nobody else's."""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from uuid import UUID

from scheduling import ledger
from scheduling.builtin import demo
from scheduling.ledger.values import NewTask
from scheduling.models import Attempt, Lease, WorkerProcess
from scheduling.states import Outcome, TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, wait_for_state
from tests.ledger.kit import most_at_once
from tests.waiting import until

CAP = 2
ROUNDS = 20
FIRST = 100
"""The priority of the task that a round is about."""


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
    assert most_at_once(tenant_a.slug) <= CAP
    assert not Lease.objects.exists()


def test_slots_of_killed_stopped_cancelled_overdue_and_unknown_tasks_come_back_once_each(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_in_flight=CAP)
    start_workers("--processes=3", "--threads=4", "--lease-seconds=0.5")
    rounds = [kill, stop_and_continue, cancel, overrun, miss_the_handler] * 3
    rounds += [kill, cancel, overrun, miss_the_handler] * 3  # to be stopped takes a lease's time
    random.shuffle(rounds)
    crowd = []
    for number, disturb in enumerate(rounds):
        crowd += [enqueue(demo.sleep, 0.05, tenant=tenant_a, max_attempts=100) for _ in range(5)]
        disturb(effects, tenant_a, f"round {number}")

    for task_id in crowd:
        wait_for_state(task_id, TaskState.SUCCEEDED)
    with held_task(effects, tenant_a, "one"), held_task(effects, tenant_a, "the other"):
        until(lambda: Lease.objects.count() == CAP)

    assert most_at_once(tenant_a.slug) == CAP
    assert not Lease.objects.exists()
    assert set(Attempt.objects.values_list("outcome", flat=True)) >= {
        Outcome.LOST,
        Outcome.CANCELLED,
        Outcome.FAILED,
        Outcome.SUCCEEDED,
    }


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
    assert most_at_once(tenant_a.slug) == 1


def kill(effects: Effects, tenant: Tenant, word: str) -> None:
    with held_task(effects, tenant, word) as task_id:
        generation, process = holder(task_id)
        os.kill(process, signal.SIGKILL)
        until(lambda: has_ended(task_id, generation), what="for its end")


def stop_and_continue(effects: Effects, tenant: Tenant, word: str) -> None:
    with held_task(effects, tenant, word) as task_id:
        generation, zombie = holder(task_id)
        while not has_ended(task_id, generation):
            os.kill(zombie, signal.SIGSTOP)
            # Stopped in the midst of a write, it keeps the ledger to itself: then it must go on first.
            with suppress(AssertionError):
                until(lambda: has_ended(task_id, generation), seconds=2)
            os.kill(zombie, signal.SIGCONT)


def cancel(effects: Effects, tenant: Tenant, word: str) -> None:
    task_id = enqueue(tasks.hold_until_told, word, tenant=tenant, priority=FIRST, max_attempts=100)
    wait_for_start(effects, word)
    ledger.cancel([task_id])
    wait_for_state(task_id, TaskState.CANCELLED)


def overrun(effects: Effects, tenant: Tenant, word: str) -> None:
    soon = timedelta(milliseconds=200)
    task_id = enqueue(
        tasks.loop_for_ever, tenant=tenant, priority=FIRST, max_attempts=1, timeout=soon
    )
    wait_for_state(task_id, TaskState.DEAD)


def miss_the_handler(effects: Effects, tenant: Tenant, word: str) -> None:
    absent = NewTask(tenant_id=tenant.pk, name="reports.retired", priority=FIRST, max_attempts=1)
    (accepted,) = ledger.enqueue([absent])
    wait_for_state(accepted.task_id, TaskState.DEAD)


@contextmanager
def held_task(effects: Effects, tenant: Tenant, word: str) -> Iterator[UUID]:
    """In flight from here to the end of the block, then let go; it succeeds in some attempt."""
    task_id = enqueue(tasks.hold, word, tenant=tenant, priority=FIRST, max_attempts=100)
    wait_for_start(effects, word)
    yield task_id
    effects.open_gate(word)
    wait_for_state(task_id, TaskState.SUCCEEDED)


def wait_for_start(effects: Effects, word: str) -> None:
    start = f"{word} started"
    until(lambda: any(line.startswith(start) for line in effects.lines()), what=f"for {start!r}")


def holder(task_id: UUID) -> tuple[int, int]:
    """The generation that is in flight, and the process that runs it."""
    lease = until(lambda: Lease.objects.filter(pk=task_id).first())
    assert lease is not None
    return lease.generation, WorkerProcess.objects.get(pk=lease.worker).pid


def has_ended(task_id: UUID, generation: int) -> bool:
    return Attempt.objects.filter(task=task_id, generation=generation).exists()


def kill_somebody() -> None:
    worker = until(lambda: WorkerProcess.objects.order_by("?").first())
    assert worker is not None
    with suppress(ProcessLookupError):
        os.kill(worker.pid, signal.SIGKILL)
