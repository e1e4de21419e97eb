"""A tenant that floods the ledger, and another that has a little to do: whom the second one waits for."""

from datetime import datetime
from uuid import UUID

from scheduling import clock
from scheduling.models import Attempt, Schedule
from scheduling.states import TaskState
from scheduling.workers import appetite
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, wait_for_state

FLOOD = 8000
PROCESSES = THREADS = 2
A_CLAIM_EACH = PROCESSES * (THREADS + appetite.MOST_AHEAD)
"""Tasks that may be claimed while one is on its way in; by order of arrival it would wait for the flood."""


def test_task_of_a_quiet_tenant_is_overtaken_by_no_more_than_the_claims_under_way(
    start_workers: Start, effects: Effects, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    Tenant.objects.update(rate_per_second=None, max_queued=None)
    flood(tenant_a)
    start_workers(f"--processes={PROCESSES}", f"--threads={THREADS}")
    effects.wait_for("loud")

    overtaken = []
    for number in range(10):
        if waiting(tenant_a) < FLOOD / 2:
            flood(tenant_a)
        task_id = enqueue(tasks.effect, f"quiet {number}", tenant=tenant_b)
        accepted_at = clock.now()
        wait_for_state(task_id, TaskState.SUCCEEDED)
        overtaken.append(overtakers(task_id, accepted_at, tenant_a))

    assert max(overtaken) <= A_CLAIM_EACH


def flood(tenant: Tenant) -> None:
    loud = tasks.effect.using(tenant=tenant)
    tasks.effect.get_backend().bulk_enqueue([(loud, ["loud"], {})] * FLOOD)


def waiting(tenant: Tenant) -> int:
    return Schedule.objects.filter(task__tenant=tenant).count()


def overtakers(task_id: UUID, accepted_at: datetime, loud: Tenant) -> int:
    """How many tasks of the loud tenant started while this one was accepted and waited."""
    attempt = Attempt.objects.get(task=task_id)
    waited = {"started_at__gt": accepted_at, "started_at__lt": attempt.started_at}
    return Attempt.objects.filter(task__tenant=loud, **waited).count()
