"""What crowds do, in threads and in other processes: a module that both can import."""

import os
from collections import Counter
from uuid import UUID

from django.db import connection, transaction

from scheduling.models import Lease, Schedule, Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.races.kit import put, say, take


def drain() -> list[UUID]:
    """Claim and settle until nothing waits; the tasks in the order in which they were run."""
    done: list[UUID] = []
    while True:
        claims = take(64)
        say(claims)
        done += [claim.task_id for claim in claims]
        if not claims and not Schedule.objects.exists():
            return done


def drain_and_count(*slugs: str) -> list[Counter[str]]:
    """Claim and settle until nothing of those tenants waits; what was in flight after each claim."""
    records = []
    while Schedule.objects.filter(task__tenant__slug__in=slugs).exists():
        with transaction.atomic():
            claims = take(8)  # no other claim gets its turn before this one has committed
            records.append(Counter(Lease.objects.values_list("tenant__slug", flat=True)))
        say(claims)
    return records


def query_and_fork() -> list[int]:
    """Fork four times with a connection open, and drain in all five processes; the children's exit codes."""
    assert Schedule.objects.exists()
    children = [_fork_to_drain() for _ in range(4)]
    drain()
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]


def _fork_to_drain() -> int:
    inherited = connection.connection
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        drain()
        code = int(connection.connection in (None, inherited))
    finally:
        os._exit(code)


def drain_until(succeeded: int) -> int:
    """Read, then write, as workers do, until so many tasks have succeeded; how many of them here."""
    done = 0
    while Task.objects.filter(state=TaskState.SUCCEEDED).count() < succeeded:
        with transaction.atomic():
            if Schedule.objects.exists():
                done += len(say(take(4)).settled)
    return done


def enqueue_many(tenant_id: int, count: int, together: int = 1) -> int:
    """So many times a batch of so many, each in a transaction of its own."""
    tenant = Tenant(pk=tenant_id)
    return sum(len(put(tenant, together)) for _ in range(count))
