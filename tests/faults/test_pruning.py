"""History is pruned while workers make more of it."""

from datetime import timedelta

from scheduling import ledger
from scheduling.models import Attempt, Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue
from tests.races.kit import put, say, take
from tests.waiting import until

AT_ONCE = timedelta(0)


def test_workers_go_on_while_what_they_finished_is_pruned_chunk_by_chunk(
    start_workers: Start, effects: Effects, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    Tenant.objects.update(max_queued=None, max_in_flight=None, rate_per_second=None)
    put(tenant_a, 2000)
    say(take(2000))
    put(tenant_b)
    (dead,) = take(1)
    say([dead], ledger.Fail(ledger.Failure("ValueError", "no luck"), None))

    start_workers("--processes=2", "--threads=4", "--lease-seconds=300")
    made = [enqueue(tasks.effect, str(number), tenant=tenant_b) for number in range(300)]
    chunks: list[int] = []

    def prune_on() -> bool:
        for tenant in (tenant_a, tenant_b):
            chunk = ledger.prune(tenant, keep=AT_ONCE, limit=50)
            chunks.append(chunk.pruned)
        return Task.objects.count() == 1

    until(prune_on, seconds=60, what="for all but the dead letter to be done and gone")

    assert sorted(effects.lines()) == sorted(str(number) for number in range(len(made)))
    assert max(chunks) <= 50
    assert sum(chunks) == 2000 + len(made)
    assert Task.objects.get().state == TaskState.DEAD
    assert Attempt.objects.count() == 1
