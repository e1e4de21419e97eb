"""Owns whether a tenant's limits let tasks in, and which limit it is that does not.

Being full must cost little, because those who are told so ask most. So a refusal is told from one look, which
waits for nobody and writes nothing. A look is of one instant, after the request came and before it is answered:
whoever is refused was over the limit then. Nothing that is remembered refuses anybody.

When a full tenant finishes a task, every thread with a request of it would see the room, and wait in line for the one
who gets it to be written to disk. So what this process is just storing for such a tenant counts as if it were
stored, for a second at most. Should storing it fail, or have just been done, so that it counts twice, others were
refused meanwhile who need not have been.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from math import floor
from threading import Lock

from scheduling import clock
from scheduling.errors import InvalidTask, LimitExceeded
from scheduling.ledger.dialects import Dialect, Usage
from scheduling.ledger.values import NewTask
from scheduling.models import Intake

QUEUE_FULL_RETRY = timedelta(seconds=1)
"""When a full queue has room again depends on its workers; a second later is worth another look."""
CLOCK_SLACK_SECONDS = 1.0
"""A clock set back by less only makes a tenant wait that much longer."""
RATE_SLACK_SECONDS = 1e-6
"""What rounding may make of a wait that is over; the statements that charge allow as much."""
ROUNDING = 1e-6
"""What it may take from a whole number of tasks that are left."""
TRIES = 3
"""Each finds something that changed since the one before, so the second hardly ever fails."""
LATELY = 1.0
"""Seconds for which a tenant that was refused is looked at before anything is tried."""
A_TRY_COUNTS = 1.0
"""Seconds for which it may keep others out; no longer than they are told to stay away, whatever became of it."""
MOST_TENANTS = 1000
"""Remembered at once, so that a process that meets very many does not keep them all."""

_looked_at_first_until: dict[int, float] = {}
_tries: dict[int, dict[object, float]] = {}
"""Under way, by tenant, with the instant at which each began; only of tenants that are looked at first."""
_lock = Lock()


def admit(
    db: Dialect, tenant_id: int, count: int, now: datetime | None, *, rated: bool = True
) -> datetime:
    """Charge tasks to the tenant's limits. Raises LimitExceeded, or InvalidTask without such a tenant."""
    for _ in range(TRIES):
        admitted = db.admit(tenant_id, count, now, rated=rated)
        if admitted is not None:
            return admitted
        usage = _usage(db, tenant_id, now)
        if _is_amiss(usage):
            _mend(tenant_id, usage)
        elif limit := _limit_met(usage, count, rated=rated):
            raise _noted(tenant_id, limit)
    raise _noted(tenant_id, _limit_at_the_brink(usage, count))


def admit_what_fits(
    db: Dialect, tenant_id: int, count: int, now: datetime
) -> tuple[int, LimitExceeded | None]:
    """Charge as many of `count` tasks as the tenant's limits allow; how many, and the limit met if not all.

    An intake takes a number whole or not at all, so one that does not fit is halved.
    """
    room, limit, size = 0, None, count
    while room < count and size:
        size = min(size, count - room)
        try:
            admit(db, tenant_id, size, now)
        except LimitExceeded as met:
            limit, size = met, size // 2
        else:
            room += size
    return room, limit if room < count else None


def require_allowance(db: Dialect, tasks: Sequence[NewTask], now: datetime | None) -> None:
    """Raises what `admit` would, without a transaction, a lock or a turn to write. Silent unless that is certain."""
    looks = _look(db, tasks, now)
    with _lock:
        _require(looks)


@contextmanager
def turn_to_try(db: Dialect, task: NewTask, now: datetime | None) -> Iterator[None]:
    """For storing a task by itself: of a tenant that was refused lately, only those try who should succeed.

    Raises what `require_allowance` does.
    """
    tenant_id = task.tenant_id
    if clock.monotonic() >= _looked_at_first_until.get(tenant_id, 0.0):
        yield
        return
    looks, this_try = _look(db, [task], now), object()
    with _lock:
        _require(looks)
        _tries.setdefault(tenant_id, {})[this_try] = clock.monotonic()
    try:
        yield
    finally:
        with _lock:
            del _tries[tenant_id][this_try]
            if not _tries[tenant_id]:
                del _tries[tenant_id]


def _look(
    db: Dialect, tasks: Sequence[NewTask], now: datetime | None
) -> list[tuple[int, int, Usage]]:
    """How many tasks each tenant is to be charged, and how it stands. Nothing when that is not certain:

    a key that may stand already is charged nothing, and a counter that is amiss is mended before it counts.
    """
    keyed = [(task.tenant_id, task.idempotency_key) for task in tasks if task.idempotency_key]
    keys = set(keyed)
    if len(keyed) > len(keys) or (keys and db.tasks_with_keys(keys)):
        return []
    counts = sorted(Counter(task.tenant_id for task in tasks).items())
    looks = [(tenant_id, count, _usage(db, tenant_id, now)) for tenant_id, count in counts]
    return [look for look in looks if not _is_amiss(look[2])]


def _require(looks: Sequence[tuple[int, int, Usage]]) -> None:
    for tenant_id, count, usage in looks:
        if limit := _limit_met(usage, count, ahead=_tries_under_way(tenant_id)):
            raise _noted(tenant_id, limit)


def _tries_under_way(tenant_id: int) -> int:
    """A thread that was struck by an exception at the wrong moment leaves one that never ends."""
    oldest = clock.monotonic() - A_TRY_COUNTS
    return sum(began_at > oldest for began_at in _tries.get(tenant_id, {}).values())


def _noted(tenant_id: int, limit: LimitExceeded) -> LimitExceeded:
    if len(_looked_at_first_until) >= MOST_TENANTS:
        _looked_at_first_until.clear()
    _looked_at_first_until[tenant_id] = clock.monotonic() + LATELY
    return limit


def _usage(db: Dialect, tenant_id: int, now: datetime | None) -> Usage:
    usage = db.usage(tenant_id, now)
    if usage is None:
        raise InvalidTask({"tenant": "There is no such tenant."})
    return usage


def _limit_met(
    usage: Usage, count: int, *, rated: bool = True, ahead: int = 0
) -> LimitExceeded | None:
    """The limit that so many tasks more would exceed, with those that are ahead of them."""
    rate = usage.rate_per_second if rated else None
    if rate is not None:
        owed = max(usage.full_at - usage.at, 0.0) * rate + ahead
        left = _left(usage.rate_burst - owed, count)
        if count > usage.rate_burst:
            return _over_rate("rate_burst", usage, QUEUE_FULL_RETRY, count, left)
        wait = (owed + count - usage.rate_burst) / rate
        if wait > RATE_SLACK_SECONDS:
            return _over_rate("rate_per_second", usage, timedelta(seconds=wait), count, left)
    most = usage.max_queued
    if most is not None and usage.unfinished + ahead + count > most:
        return _over_queued(most, count, _left(most - usage.unfinished - ahead, count))
    return None


def _left(room: float, count: int) -> int:
    """Of tasks that do not fit all together, how many would have."""
    return max(min(floor(room + ROUNDING), count - 1), 0)


def _limit_at_the_brink(usage: Usage, count: int) -> LimitExceeded:
    """Room was there at every look and gone at every try, so any limit there is may be the one."""
    if usage.max_queued is not None:
        return _over_queued(usage.max_queued, count, 0)
    return _over_rate("rate_per_second", usage, QUEUE_FULL_RETRY, count, 0)


def _over_queued(most: int, count: int, left: int) -> LimitExceeded:
    return LimitExceeded(
        "max_queued", allowed=most, retry_after=QUEUE_FULL_RETRY, count=count, left=left
    )


def _over_rate(limit: str, usage: Usage, wait: timedelta, count: int, left: int) -> LimitExceeded:
    """One limiter, of which `limit` names the figure that was exceeded."""
    rate, burst = usage.rate_per_second, usage.rate_burst
    return LimitExceeded(
        limit,
        allowed=burst if limit == "rate_burst" else rate or 0.0,
        retry_after=wait,
        count=count,
        left=left,
        quota=burst,
        window=timedelta(seconds=burst / rate) if rate else None,
    )


def _is_amiss(usage: Usage) -> bool:
    """It is the tenant's first task; or it has a debt that only a clock set back explains."""
    return usage.accepted is None or usage.full_at > _furthest(usage) + CLOCK_SLACK_SECONDS


def _furthest(usage: Usage) -> float:
    """To which its rate can have brought `full_at`."""
    rate = usage.rate_per_second
    return float("inf") if rate is None else usage.at + usage.rate_burst / rate


def _mend(tenant_id: int, usage: Usage) -> None:
    Intake.objects.bulk_create([Intake(tenant_id=tenant_id)], ignore_conflicts=True)
    impossible = Intake.objects.filter(
        pk=tenant_id, full_at__gt=_furthest(usage) + CLOCK_SLACK_SECONDS
    )
    impossible.update(full_at=usage.at)


def _begin_anew() -> None:
    """In a new process: what its parent tries is the parent's, and so is the lock, which a thread there may hold."""
    global _lock
    _lock = Lock()
    _tries.clear()


os.register_at_fork(after_in_child=_begin_anew)
