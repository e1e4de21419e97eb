"""What crowds do, in threads and in other processes: a module that both can import."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from scheduling import ledger
from scheduling.ledger.dialects import dialect
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


def fire_minute_by_minute(first: datetime, minutes: int, who_is_ahead: str) -> list[int]:
    """Fire all that is due at each of these minutes; how many in each. One process is three seconds ahead."""
    try:
        os.close(os.open(who_is_ahead, os.O_CREAT | os.O_EXCL))
        ahead = timedelta(seconds=3)
    except FileExistsError:
        ahead = timedelta()
    counts = []
    for minute in range(minutes):
        now, count = first + timedelta(minutes=minute) + ahead, 0
        while (fired := ledger.fire_due(now=now, limit=20)).looked_at or _is_left(now, fired):
            count += fired.fired
        counts.append(count)
    return counts


def _is_left(now: datetime, fired: ledger.Fired) -> bool:
    """In the hands of another process."""
    return fired.next_look is not None and fired.next_look <= now


def die_at_statement(number: int, now: datetime) -> int:
    """Fire, and be killed when that many statements have been sent; how many there were if there were fewer."""
    sent = 0

    def count(send: Callable[..., Any], *args: Any) -> Any:
        nonlocal sent
        sent += 1
        if sent > number:
            os.kill(os.getpid(), signal.SIGKILL)
        return send(*args)

    kind = type(dialect())
    for name in {"_run", "_run_many"} & set(dir(kind)):
        setattr(kind, name, _before(getattr(kind, name), count))
    with connection.execute_wrapper(count):
        while (fired := ledger.fire_due(now=now)).fired or fired.looked_at:
            pass
    return sent


def _before(run: Callable[..., Any], count: Callable[..., Any]) -> Callable[..., Any]:
    def counted(db: Any, *args: Any) -> Any:
        return count(run, db, *args)

    return counted
