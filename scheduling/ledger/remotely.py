"""Renewing and settling for workers on the other side of the API, which keep no more of a claim than its fence.

Who may speak of which task is for the API to say. Whether the lease still stands is said here, as for everybody.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from scheduling.ledger.claim import LEASE
from scheduling.ledger.dialects import dialect
from scheduling.ledger.paces import timed
from scheduling.ledger.progress import Progress
from scheduling.ledger.refuse import refuse
from scheduling.ledger.renew import NOTHING_NEW, Fence, renew_tokens
from scheduling.ledger.settle import already_settled, end
from scheduling.ledger.values import Renewal, Settling, Stale, Verdict


def renew_remotely(
    worker: UUID,
    fences: Collection[Fence],
    *,
    lease: timedelta = LEASE,
    progress: Mapping[Fence, Progress] = NOTHING_NEW,
    now: datetime | None = None,
) -> Renewal:
    """As `renew` does."""
    tokens = [(*fence, worker) for fence in fences]
    return renew_tokens(tokens, lease=lease, progress=progress, now=now)


@timed("settle")
def settle_remotely(
    worker: UUID, said: Mapping[Fence, Verdict], *, now: datetime | None = None
) -> Settling:
    """As `settle` does, for one worker. What a claim would have told of a lease is read from its row."""
    db = dialect()
    with transaction.atomic():
        rows = {(lease.task_id, lease.generation): lease for lease in db.held_leases(worker)}
        held = [fence for fence in said if fence in rows]
        places = db.end_leases([(*fence, worker) for fence in held]) if held else []
        now = now or db.now()
        ended = [held[place] for place in places]
        settled = end(db, [(rows[fence], said[fence]) for fence in ended], now)
        missed = {
            (*fence, worker): verdict.outcome
            for fence, verdict in said.items()
            if fence not in set(ended)
        }
        repeated = already_settled(missed)
        stale = [token for token in missed if token not in repeated]
        refuse(stale, "settle", now)
    return Settling(
        [*settled, *repeated.values()],
        [Stale(task_id, generation) for task_id, generation, _ in stale],
    )
