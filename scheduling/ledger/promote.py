"""Promoting: what has become due, and what a pause no longer holds, is made ready."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from scheduling.ledger.control import put_back_what_is_over
from scheduling.ledger.dialects import dialect
from scheduling.ledger.enqueue import activate
from scheduling.states import Readiness


@dataclass(frozen=True, slots=True)
class Promotion:
    promoted: int
    next_due: datetime | None
    """When there is something to promote again, as far as is known now. None: nothing waits."""
    now: datetime
    """The database's instant that this was decided at."""


def promote(*, limit: int = 1000, now: datetime | None = None) -> Promotion:
    """Make up to `limit` due schedules ready, and as many again that an ended pause had held.

    Reads two index entries and writes nothing when there is nothing to do, so it may be called often,
    by any number of workers.
    """
    db = dialect()
    now = now or db.now()
    promoted = put_back_what_is_over(now, limit)
    next_due = db.next_due()
    if next_due is not None and next_due <= now:
        promoted += _promote_due(now, limit)
        next_due = db.next_due()
    return Promotion(promoted, next_due, now)


def _promote_due(now: datetime, limit: int) -> int:
    """What is due in lanes that nobody else is making ready. The others are looked at again soon."""
    db = dialect()
    busy: set[int] = set()
    with transaction.atomic():
        while True:
            due = db.due_schedules(now, limit, apart_from=busy)
            lanes = {lane_id for _, lane_id in due}
            db.share_lane_ids(lanes)
            free = db.free_lanes(lanes)
            if free == lanes:
                break
            busy |= lanes - free
        db.set_readiness([task_id for task_id, _ in due], Readiness.READY)
        activate(db, lanes)
    return len(due)
