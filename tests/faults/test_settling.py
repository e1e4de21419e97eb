"""Handlers of real worker processes that commit their own rows together with the settlement."""

import os
import signal

import pytest

from scheduling import ledger
from scheduling.models import Refusal, Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import settling
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, outcomes, pid_that_runs, the_task, wait_for_state
from tests.waiting import until

SHORT_LEASE = "--lease-seconds=1"


def rows(word: str) -> list[str]:
    """What handlers committed."""
    return sorted(Tenant.objects.filter(slug__startswith=word).values_list("slug", flat=True))


def test_stopped_worker_that_comes_back_leaves_no_row_of_its_own(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SHORT_LEASE)
    task_id = enqueue(settling.settle_after_the_gate, "a", tenant=tenant_a)
    effects.wait_for("a started 1")
    zombie = pid_that_runs(task_id)
    os.kill(zombie, signal.SIGSTOP)
    start_workers("--processes=1", "--lease-seconds=300")
    effects.wait_for("a started 2")
    effects.open_gate("a")
    wait_for_state(task_id, TaskState.SUCCEEDED)

    os.kill(zombie, signal.SIGCONT)

    effects.wait_for("a ended 1")
    until(lambda: Refusal.objects.filter(task=task_id, generation=1).exists())
    assert rows("a-") == ["a-2"]
    assert outcomes(task_id) == ["lost", "succeeded"]


def test_worker_that_knows_of_nothing_is_refused_by_the_ledger(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", "--lease-seconds=300")
    task_id = enqueue(settling.settle_after_the_gate, "a", tenant=tenant_a, max_attempts=1)
    effects.wait_for("a started 1")
    ledger.reap(ledger.held_leases())

    effects.open_gate("a")

    effects.wait_for("a ended 1")
    until(lambda: Refusal.objects.filter(task=task_id, verb="settle").exists())
    assert rows("a-") == []
    assert the_task(task_id).state == TaskState.DEAD


def test_worker_that_dies_in_the_block_leaves_no_row_and_the_next_one_commits_both(
    start_workers: Start, tenant_a: Tenant
) -> None:
    start_workers("--processes=1")
    task_id = enqueue(settling.die_in_the_block, "a", tenant=tenant_a)

    wait_for_state(task_id, TaskState.SUCCEEDED)

    assert rows("a-") == ["a-2"]
    assert outcomes(task_id) == ["lost", "succeeded"]


@pytest.mark.parametrize("ending", ["itself", "SIGTERM", "SIGKILL"])
def test_what_has_settled_stays_so_however_its_handler_ends(
    ending: str, start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    workers = start_workers("--processes=1", SHORT_LEASE, "--grace-seconds=0.1")
    task_id = enqueue(settling.settle_and_linger, "a", tenant=tenant_a)
    effects.wait_for("a settled 1")
    other = enqueue(settling.settle_after_the_gate, "b", tenant=tenant_a)
    effects.open_gate("b")
    wait_for_state(other, TaskState.SUCCEEDED)  # the pool goes round, with nothing to renew

    match ending:
        case "itself":
            effects.open_gate("a")
            effects.wait_for("a ended 1, lost: False")
        case "SIGTERM":
            workers.stop()
        case "SIGKILL":
            workers.kill_all()

    assert the_task(task_id).result == "a"
    assert outcomes(task_id) == ["succeeded"]
    assert rows("a-") == ["a-1"]
    assert not Refusal.objects.exists()
    assert Task.objects.filter(state=TaskState.SUCCEEDED).count() == 2
