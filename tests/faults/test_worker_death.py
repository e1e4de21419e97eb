"""Scenarios 1, 2, 6, 7, 8, 9, 13, 16: worker processes die, and no task is lost with them.

In all of them the parent has queried the database before it forked: `tests.app` does that.
"""

import os
import signal
from collections import Counter

import pytest
from django.db import connection

from scheduling.models import Attempt, Lease, WorkerProcess
from scheduling.states import DeadReason, TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import (
    Effects,
    enqueue,
    outcomes,
    pid_that_runs,
    the_task,
    wait_for_state,
)
from tests.waiting import until

SLOW_LEASE = "--lease-seconds=300"
"""So long that nothing in a test recovers by waiting for it."""


def test_task_of_a_killed_process_runs_again_without_waiting_for_its_lease(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SLOW_LEASE)
    task_id = enqueue(tasks.hold, "a", tenant=tenant_a, max_attempts=5)
    effects.wait_for("a started 1")

    os.kill(pid_that_runs(task_id), signal.SIGKILL)

    effects.wait_for("a started 2")
    task = the_task(task_id)
    assert (task.state, task.attempts, task.generation) == (TaskState.RUNNING, 1, 2)
    effects.open_gate("a")
    wait_for_state(task_id, TaskState.SUCCEEDED)
    assert outcomes(task_id) == ["lost", "succeeded"]


def test_tasks_of_a_host_that_lost_everything_are_recovered_by_the_workers_started_next(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    first = start_workers("--processes=1", SLOW_LEASE)
    task_id = enqueue(tasks.hold, "a", tenant=tenant_a)
    effects.wait_for("a started 1")
    first.kill_all()
    assert Lease.objects.filter(pk=task_id).exists()

    start_workers("--processes=1", SLOW_LEASE)

    effects.wait_for("a started 2")


def test_lease_outlives_the_registration_of_its_worker_and_ends_by_its_length(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    first = start_workers("--processes=1", "--lease-seconds=1")
    enqueue(tasks.hold, "a", tenant=tenant_a)
    effects.wait_for("a started 1")
    first.kill_all()
    WorkerProcess.objects.all().delete()

    start_workers("--processes=1", "--lease-seconds=1")

    effects.wait_for("a started 2")


@pytest.mark.parametrize("way", tasks.WAYS_TO_DIE)
def test_handler_that_kills_its_process_is_dead_after_its_attempts_and_its_neighbour_is_not_charged(
    way: str, start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", "--threads=2", SLOW_LEASE)
    neighbour = enqueue(tasks.hold, "neighbour", tenant=tenant_a, max_attempts=1)
    effects.wait_for("neighbour started 1")
    killer = enqueue(tasks.die, way, tenant=tenant_a, max_attempts=3)

    task = wait_for_state(killer, TaskState.DEAD)

    assert task.dead_reason == DeadReason.WORKER_LOST
    assert outcomes(killer) == ["lost", "lost", "lost"]
    starts = [line for line in effects.lines() if line.startswith(f"{way} started")]
    assert starts == [f"{way} started {generation}" for generation in (1, 2, 3)]
    effects.open_gate("neighbour")
    wait_for_state(neighbour, TaskState.SUCCEEDED)
    assert Counter(outcomes(neighbour)) == {"released": 3, "succeeded": 1}


def test_coroutine_that_kills_its_process_is_the_one_charged(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", "--threads=2", SLOW_LEASE)
    neighbour = enqueue(tasks.hold, "neighbour", tenant=tenant_a, max_attempts=1)
    effects.wait_for("neighbour started 1")
    killer = enqueue(tasks.die_on_the_loop, "exit 0", tenant=tenant_a, max_attempts=1)

    assert wait_for_state(killer, TaskState.DEAD).dead_reason == DeadReason.WORKER_LOST
    effects.open_gate("neighbour")
    wait_for_state(neighbour, TaskState.SUCCEEDED)


def test_slot_of_a_lost_task_is_free_for_those_that_wait_behind_its_cap(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_in_flight=1)
    start_workers("--processes=2", SLOW_LEASE)
    first = enqueue(tasks.hold, "a", tenant=tenant_a, max_attempts=1)
    effects.wait_for("a started 1")
    waiting = [enqueue(tasks.effect, str(number), tenant=tenant_a) for number in range(5)]

    os.kill(pid_that_runs(first), signal.SIGKILL)

    assert wait_for_state(first, TaskState.DEAD).dead_reason == DeadReason.WORKER_LOST
    for task_id in waiting:
        wait_for_state(task_id, TaskState.SUCCEEDED)
    assert sorted(effects.lines()) == ["0", "1", "2", "3", "4", "a started 1"]


def test_eight_processes_run_every_task_once(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    many = 4000
    Tenant.objects.filter(pk=tenant_a.pk).update(
        max_in_flight=None, rate_per_second=None, max_queued=None
    )
    backend = tasks.effect.get_backend()
    for first in range(0, many, 1000):
        words = map(str, range(first, first + 1000))
        backend.bulk_enqueue([(tasks.effect.using(tenant=tenant_a), [word], {}) for word in words])

    start_workers("--processes=8", "--threads=4")

    until(lambda: len(effects.lines()) >= many, seconds=40)
    until(lambda: not Lease.objects.exists())
    assert sorted(map(int, effects.lines())) == list(range(many))
    assert Attempt.objects.count() == many
    assert_file_is_whole()


def assert_file_is_whole() -> None:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA integrity_check")
            assert cursor.fetchall() == [("ok",)]
