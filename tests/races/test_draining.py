"""Many processes on one ledger: every task is run, and none twice."""

import pytest

from scheduling.models import Attempt, Task
from scheduling.states import Outcome, TaskState
from tenants.models import Tenant
from tests.races.kit import flatten, put
from tests.races.processes import processes_at_once
from tests.races.work import drain

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_eight_processes_drain_ten_thousand_tasks_and_none_is_run_twice() -> None:
    tenants = [
        Tenant.objects.create(
            slug=f"tenant-{n}", max_in_flight=None, max_queued=None, rate_per_second=None
        )
        for n in range(4)
    ]
    ids = flatten([put(tenant, 500) for tenant in tenants for _ in range(5)])
    assert len(ids) == 10_000

    done = flatten(processes_at_once(8, drain))

    assert len(done) == 10_000
    assert set(done) == set(ids)
    assert Task.objects.filter(state=TaskState.SUCCEEDED, generation=1).count() == 10_000
    assert Attempt.objects.filter(outcome=Outcome.SUCCEEDED).count() == 10_000
