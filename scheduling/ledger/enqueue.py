"""Accepting tasks."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from scheduling.errors import IdempotencyMismatch
from scheduling.ids import uuid7, uuids7
from scheduling.ledger import admission, capacity, wake
from scheduling.ledger.dialects import Dialect, dialect
from scheduling.ledger.values import Accepted, NewTask
from scheduling.states import Readiness


def enqueue(tasks: Sequence[NewTask], *, now: datetime | None = None) -> list[Accepted]:
    """Store tasks: all of them, or on any refusal none. Answers in the order of the batch.

    One transaction, durable when it commits; inside a caller's transaction the tasks are part of it, and
    gone if it rolls back. A task whose idempotency key already stands for the same request is answered with
    the task that is there, and charged to no limit.

    Raises Overloaded, LimitExceeded, IdempotencyMismatch, or InvalidTask for a tenant that does not exist.
    """
    if not tasks:
        return []
    capacity.require_room()
    if len(tasks) == 1 and (accepted := _accept_one(tasks[0], now)):
        return [accepted]
    admission.require_allowance(dialect(), tasks, now)
    taken: set[tuple[int, str]] = set()
    while True:
        try:
            with transaction.atomic():
                return _enqueue(tasks, now)
        except IntegrityError:
            before, taken = taken, _taken_keys(tasks)
            if taken <= before:  # so it was not for a key that somebody took meanwhile
                raise


def _accept_one(task: NewTask, now: datetime | None) -> Accepted | None:
    """The common case, where the database can do it in one statement and nothing is in the way."""
    db = dialect()
    with admission.turn_to_try(db, task, now):
        task_id = uuid7()
        created_at = db.accept_one(task_id, task, now)
    return Accepted(task_id, replayed=False, created_at=created_at) if created_at else None


def _enqueue(tasks: Sequence[NewTask], now: datetime | None) -> list[Accepted]:
    db = dialect()
    new, replays = _tell_replays(db, tasks)
    if new:
        now = _admit(db, Counter(task.tenant_id for _, task in new), now)
        store(db, new, now)
    stored = (Accepted(task_id, replayed=False, created_at=now) for task_id, _ in new)
    return [replays.get(place) or next(stored) for place in range(len(tasks))]


def store(db: Dialect, new: Sequence[tuple[UUID, NewTask]], now: datetime) -> None:
    """Write tasks that have been admitted, each under its id, and put them in their lanes."""
    db.insert_tasks(new, now)
    rows = [
        (task_id, task.tenant_id, task.queue, task.priority, task.due_at) for task_id, task in new
    ]
    schedule(db, rows, now)


def _tell_replays(
    db: Dialect, tasks: Sequence[NewTask]
) -> tuple[list[tuple[UUID, NewTask]], dict[int, Accepted]]:
    """The tasks that are new, each with an id; and the answers to the others, by their place in the batch."""
    keys = {(task.tenant_id, task.idempotency_key) for task in tasks if task.idempotency_key}
    stored = db.tasks_with_keys(keys) if keys else {}
    known = dict(stored)
    new: list[tuple[UUID, NewTask]] = []
    replays: dict[int, Accepted] = {}
    for place, (task_id, task) in enumerate(zip(uuids7(len(tasks)), tasks, strict=True)):
        key, mine = (task.tenant_id, task.idempotency_key or ""), (task_id, task.fingerprint)
        first = known.setdefault(key, mine) if task.idempotency_key else mine
        if first is mine:
            new.append((task_id, task))
        elif first[1] == task.fingerprint:
            replays[place] = Accepted(first[0], replayed=True)
        else:
            raise IdempotencyMismatch(key[1], first[0] if key in stored else None)
    return new, replays


def _admit(db: Dialect, counts: Counter[int], now: datetime | None) -> datetime:
    for tenant_id, count in sorted(counts.items()):
        now = admission.admit(db, tenant_id, count, now)
    assert now is not None  # nosec B101  # for the type checker
    return now


def schedule(
    db: Dialect, rows: Sequence[tuple[UUID, int, str, int, datetime | None]], now: datetime
) -> None:
    """Put tasks, as (task, tenant, queue, priority, due_at), in their lanes, and wake the workers."""
    lanes = db.share_lanes({(tenant_id, queue) for _, tenant_id, queue, _, _ in rows})
    placed = [
        (task_id, lanes[tenant_id, queue], priority, due_at or now)
        for task_id, tenant_id, queue, priority, due_at in rows
    ]
    place(db, placed, now)


def place(db: Dialect, rows: Sequence[tuple[UUID, int, int, datetime]], now: datetime) -> None:
    """Schedule tasks, as (task, lane, priority, due_at), in lanes that are shared already.

    Waits for nobody: what is due in a lane that another transaction is making ready is left to the promoter.
    """
    due_in = {lane_id for _, lane_id, _, due_at in rows if due_at <= now}
    free = db.free_lanes(due_in) if due_in else set()
    schedules = [
        (task_id, lane_id, priority, due_at, readiness_at(due_at, now, is_free=lane_id in free))
        for task_id, lane_id, priority, due_at in rows
    ]
    db.insert_schedules(schedules)
    if free:
        activate(db, free)
    soon = now + wake.SLOWEST_LOOK
    if any(due_at <= soon and how is Readiness.NOT_DUE for *_, due_at, how in schedules):
        wake.after_commit(wake.DUE)


def readiness_at(due_at: datetime, now: datetime, *, is_free: bool) -> Readiness:
    return Readiness.READY if due_at <= now and is_free else Readiness.NOT_DUE


def activate(db: Dialect, lane_ids: set[int]) -> None:
    """Make lanes ready. A worker that waits has found every lane empty, so only those wake anybody."""
    if db.activate_lanes(lane_ids):
        wake.after_commit(wake.WORK)


def _taken_keys(tasks: Sequence[NewTask]) -> set[tuple[int, str]]:
    """Those keys of a batch that stand, perhaps since another transaction stored them."""
    keys = {(task.tenant_id, task.idempotency_key) for task in tasks if task.idempotency_key}
    return set(dialect().tasks_with_keys(keys))
