"""Reaping: ending the leases of workers that are gone or silent."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from scheduling import retry
from scheduling.ledger.dialects import Dialect, Token, dialect
from scheduling.ledger.settle import end
from scheduling.ledger.values import HeldLease, Lose, Release, Settled, Verdict


def held_leases(worker: UUID | None = None) -> list[HeldLease]:
    """The leases as they stand, of one worker or of all. A plain read, outside any transaction."""
    return dialect().held_leases(worker)


def reap(
    leases: Sequence[HeldLease],
    *,
    uncharged: Collection[UUID] = (),
    note: str = "",
    now: datetime | None = None,
) -> list[Settled]:
    """End those leases that have not changed since they were read; answers what became of their tasks.

    The attempt is `lost`: charged, tried again after a backoff, a dead letter at the limit, so a task that
    kills its workers cannot go on for ever. Tasks in `uncharged` (ids: claimed and never started, or not
    to blame) are released instead. One transaction, outside capacity and pause.
    """
    if not leases:
        return []
    db = dialect()
    with transaction.atomic():
        places = db.end_leases(
            [_token(lease) for lease in leases], [lease.expires_at for lease in leases]
        )
        ended = [leases[place] for place in places]
        lost = _losses(db, ended, uncharged, note)
        return end(
            db,
            [(lease, lost.get(lease.task_id, Release())) for lease in ended],
            now or db.now(),
        )


def _losses(
    db: Dialect, leases: Sequence[HeldLease], uncharged: Collection[UUID], note: str
) -> dict[UUID, Verdict]:
    """Each with the backoff of its own attempt.

    All are read, for reading locks: those that are not charged would be locked later, out of order.
    """
    standings = db.standings([lease.task_id for lease in leases])
    return {
        task_id: _loss(task.attempts + 1, note)
        for task_id, task in standings.items()
        if task_id not in uncharged
    }


def _loss(attempt: int, note: str) -> Lose:
    delay = retry.backoff(attempt, base=retry.LOST_BASE)
    return Lose(delay, note) if note else Lose(delay)


def _token(lease: HeldLease) -> Token:
    return (lease.task_id, lease.generation, lease.worker)
