"""Making tasks of ticks, by the rules of every enqueue: the tenant's limits hold, and what does not fit waits."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from scheduling import payload
from scheduling.errors import LimitExceeded
from scheduling.ids import uuids7
from scheduling.ledger.admission import admit_what_fits
from scheduling.ledger.dialects import dialect
from scheduling.ledger.enqueue import store
from scheduling.ledger.values import NewTask
from scheduling.models import RecurringTask, Tick
from scheduling.policies import TickOutcome

TRY_AGAIN = timedelta(seconds=10)
"""After a tick met its tenant at a limit: together with what waits behind it, whenever the tenant may go on."""


def new_task(row: RecurringTask, now: datetime) -> NewTask:
    """As the row says. ValueError for a payload that somebody made unreadable."""
    if not isinstance(row.payload, dict):
        raise ValueError("Its payload is no object that can be read.")
    return NewTask(
        tenant_id=row.tenant_id,
        name=row.task_name,
        queue=row.queue,
        kwargs_json=payload.dumps(row.payload),
        priority=row.priority,
        max_attempts=row.max_attempts,
        timeout_seconds=row.timeout_seconds,
        deadline=deadline(row, now),
    )


def deadline(row: RecurringTask, now: datetime) -> datetime | None:
    seconds = row.deadline_seconds
    return None if seconds is None else now + timedelta(seconds=seconds)


def make_tasks(
    wanted: Sequence[tuple[Tick, NewTask]], now: datetime
) -> tuple[int, dict[int, LimitExceeded]]:
    """Store a task for each tick, in the transaction of the caller, who then stores the ticks.

    What does not fit into the limits of its tenant is told to wait, or missed when that is of no use any more.
    Answers how many tasks were made, and the limits that were met, by tenant.
    """
    db = dialect()
    by_tenant: dict[int, list[tuple[Tick, NewTask]]] = {}
    for one in wanted:
        by_tenant.setdefault(one[1].tenant_id, []).append(one)
    admitted: list[tuple[Tick, NewTask]] = []
    limits: dict[int, LimitExceeded] = {}
    for tenant_id, its in sorted(by_tenant.items()):
        room, limit = admit_what_fits(db, tenant_id, len(its), now)
        admitted += its[:room]
        if limit:
            limits[tenant_id] = limit
            for tick, _ in its[room:]:
                _put_off(tick, limit, now)
    new = [
        (task_id, task) for task_id, (_, task) in zip(uuids7(len(admitted)), admitted, strict=True)
    ]
    for (task_id, _), (tick, _) in zip(new, admitted, strict=True):
        _fire(tick, task_id, now)
    if new:
        store(db, new, now)
    return len(new), limits


def _fire(tick: Tick, task_id: UUID, now: datetime) -> None:
    tick.task_id = task_id
    tick.outcome = TickOutcome.FIRED
    tick.is_open = True
    tick.reason = ""
    tick.decided_at = now
    tick.look_at = tick.expires_at = None


def _put_off(tick: Tick, limit: LimitExceeded, now: datetime) -> None:
    tick.reason = f"Its tenant was at its {limit.limit} of {limit.allowed:g}."
    tick.look_at = now + TRY_AGAIN
    if tick.expires_at is None:
        return
    tick.look_at = min(tick.look_at, tick.expires_at)
    if tick.expires_at <= now:
        give_up(tick, now)


def give_up(tick: Tick, now: datetime) -> None:
    """It waited for as long as it was of use."""
    tick.outcome = TickOutcome.MISSED
    tick.decided_at = now
    tick.look_at = tick.expires_at = None
