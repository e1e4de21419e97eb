"""Firing: what has come is accounted for, and makes its tasks, in one transaction per batch.

Any process may do it at any time. Rows are locked while they are looked at, and those that another process holds
are passed by, so nobody waits and no tick is looked at twice: whoever comes later finds the row moved on.
"""

import logging
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, transaction

from scheduling.ledger import capacity
from scheduling.ledger.dialects import dialect
from scheduling.ledger.recurring.account import account
from scheduling.ledger.recurring.disabling import disable_refused, is_refusal
from scheduling.ledger.recurring.release import is_anything_waiting, next_release, release_waiting
from scheduling.ledger.recurring.values import Fired
from scheduling.models import RecurringTask
from scheduling.models.recurring import RecurringTaskQuerySet
from scheduling.policies import PUNCTUAL

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
    if is_anything_waiting(now) or is_due(now):
        capacity.require_room()
        fired = release_waiting(now)
        made, looked_at = _fire(now, limit)
        fired += made
    looks = [at for at in (_next_tick(), next_release(now)) if at is not None]
    return Fired(fired, looked_at, min(looks, default=None), now)


def is_due(now: datetime) -> bool:
    return RecurringTask.objects.due(now).exists()


def _next_tick() -> datetime | None:
    rows = RecurringTask.objects.filter(fires_at__isnull=False).order_by("fires_at")
    return rows.values_list("fires_at", flat=True).first()


def _fire(now: datetime, limit: int) -> tuple[int, int]:
    """A batch; or one by one, when something in it is not to be stored: how many tasks, and of how many rows."""
    try:
        return _fire_batch(now, limit)
    except DatabaseError as error:
        if not is_refusal(error):
            raise
        logger.exception("A batch of recurring tasks was refused; firing them one by one.")
    due = RecurringTask.objects.due(now).order_by("fires_at")
    ids = list(due.values_list("pk", flat=True)[:limit])
    return sum(_fire_alone(pk, now) for pk in ids), len(ids)


def _fire_batch(now: datetime, limit: int, *, only: UUID | None = None) -> tuple[int, int]:
    """Rows that lay still for long are caught up with beside those that are due now, and not before."""
    due = RecurringTask.objects.due(now)
    if only is not None:
        due = due.filter(pk=only)
    with transaction.atomic():
        rows = _in_turn(due, now, limit)
        fired = account(rows, now).fired if rows else 0
    return fired, len(rows)


def _in_turn(due: RecurringTaskQuerySet, now: datetime, limit: int) -> list[RecurringTask]:
    """Locked. In time: who has waited longest, so that rows which are due every second hold up no other; then the rest."""
    free = due.select_for_update(skip_locked=True, no_key=True)
    rows = list(free.filter(fires_at__gt=now - PUNCTUAL).order_by("fires_at")[:limit])
    if len(rows) < limit:
        late = free.filter(fires_at__lte=now - PUNCTUAL).order_by("-fires_at")
        rows += late[: limit - len(rows)]
    return rows


def _fire_alone(recurring_id: UUID, now: datetime) -> int:
    try:
        return _fire_batch(now, 1, only=recurring_id)[0]
    except DatabaseError as error:
        if not is_refusal(error):
            raise
        disable_refused(recurring_id, error, now)
        return 0
