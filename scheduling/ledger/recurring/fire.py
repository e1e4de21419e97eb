"""Firing: what has come is accounted for, and makes its tasks, in one transaction per batch.

Any process may do it at any time. Rows are locked while they are looked at, and those that another process holds
are passed by, so nobody waits and no tick is looked at twice: whoever comes later finds the row moved on.
"""

import logging
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from scheduling.ledger import capacity
from scheduling.ledger.dialects import dialect
from scheduling.ledger.recurring.account import STANDING, account, disable
from scheduling.ledger.recurring.release import next_release, release_waiting
from scheduling.ledger.recurring.values import Fired
from scheduling.models import RecurringTask

logger = logging.getLogger(__name__)

BATCH = 100
"""Rows in one transaction."""


def fire_due(*, limit: int = BATCH, now: datetime | None = None) -> Fired:
    """Account for what has come of up to `limit` recurring tasks, and make the tasks of ticks that waited.

    Reads two index entries and writes nothing when there is nothing to do, so it may be called often, by any
    number of processes. A row that cannot be read, or whose tasks the database refuses, is disabled with the
    reason. Raises Overloaded, and then has done nothing: what has come comes later.
    """
    now = now or dialect().now()
    fired, looked_at = 0, 0
    next_tick, next_wait = _next_tick(), next_release(now)
    if any(at is not None and at <= now for at in (next_tick, next_wait)):
        capacity.require_room()
    if next_wait is not None and next_wait <= now:
        fired += release_waiting(now)
        next_wait = next_release(now, has_looked=True)
    if next_tick is not None and next_tick <= now:
        made, looked_at = _fire(now, limit)
        fired += made
        next_tick = _next_tick()
        next_wait = next_wait or next_release(now)
    looks = [at for at in (next_tick, next_wait) if at is not None]
    return Fired(fired, looked_at, min(looks, default=None), now)


def _next_tick() -> datetime | None:
    rows = RecurringTask.objects.filter(fires_at__isnull=False).order_by("fires_at")
    return rows.values_list("fires_at", flat=True).first()


def _fire(now: datetime, limit: int) -> tuple[int, int]:
    """A batch; or one by one, when something in it is not to be stored: how many tasks, and of how many rows."""
    try:
        return _fire_batch(now, limit)
    except (OperationalError, InterfaceError):
        raise
    except DatabaseError:
        logger.exception("A batch of recurring tasks was refused; firing them one by one.")
    ids = list(RecurringTask.objects.due(now).order_by("fires_at").values_list("pk", flat=True))
    fired = [_fire_alone(pk, now) for pk in ids[:limit]]
    return sum(fired), len(fired)


def _fire_batch(now: datetime, limit: int, *, only: UUID | None = None) -> tuple[int, int]:
    with transaction.atomic():
        due = RecurringTask.objects.due(now).order_by("fires_at")
        if only is not None:
            due = due.filter(pk=only)
        rows = list(due.select_for_update(skip_locked=True, no_key=True)[:limit])
        fired = account(rows, now).fired if rows else 0
    return fired, len(rows)


def _fire_alone(pk: UUID, now: datetime) -> int:
    try:
        return _fire_batch(now, 1, only=pk)[0]
    except (OperationalError, InterfaceError):
        raise
    except DatabaseError as error:
        logger.exception("Recurring task %s is disabled.", pk)
        with transaction.atomic():
            for row in RecurringTask.objects.select_for_update(no_key=True).filter(pk=pk):
                disable(row, f"The database refuses its task: {error}")
                row.save(update_fields=STANDING)
    return 0
