"""Renewing: a worker says that it is still at it."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import transaction

from scheduling.ledger.claim import LEASE
from scheduling.ledger.dialects import Token, dialect
from scheduling.ledger.paces import timed
from scheduling.ledger.progress import Progress
from scheduling.ledger.refuse import refuse
from scheduling.ledger.settle import token_of
from scheduling.ledger.values import Claim, Renewal, Stale
from scheduling.models import Attempt, Lease, Task
from scheduling.states import Outcome

Fence = tuple[UUID, int]
"""(task, generation)."""
NOTHING_NEW: Mapping[Any, Progress] = MappingProxyType({})


def renew(
    claims: Sequence[Claim],
    *,
    lease: timedelta = LEASE,
    progress: Mapping[UUID, Progress] = NOTHING_NEW,
    now: datetime | None = None,
) -> Renewal:
    """Extend the leases of claims to `lease` from now, in one transaction.

    Stale ones are refused and recorded, and do not disturb the others; one that succeeded as this claim is
    not stale. `progress` is what handlers have to say, by task. The answer also says which of the tasks
    somebody asked to cancel.
    """
    tokens = [token_of(claim) for claim in claims]
    news = {
        (claim.task_id, claim.generation): progress[claim.task_id]
        for claim in claims
        if claim.task_id in progress
    }
    return renew_tokens(tokens, lease=lease, progress=news, now=now)


@timed("renew")
def renew_tokens(
    tokens: Sequence[Token],
    *,
    lease: timedelta,
    progress: Mapping[Fence, Progress],
    now: datetime | None,
) -> Renewal:
    """The same for who names leases by their tokens, and tells the news of each by its fence."""
    db = dialect()
    with transaction.atomic():
        expires_at, renewed = db.renew(tokens, now, lease.total_seconds())
        held = {(task_id, generation) for task_id, generation, _ in renewed}
        _write_down(progress, held)
        stale = _stale([token for token in tokens if token not in renewed])
        if stale:
            refuse(stale, "renew", expires_at - lease)
        tasks = Task.objects.filter(pk__among=[task_id for task_id, _, _ in renewed])
        cancelled = tasks.filter(cancel_requested_at__isnull=False)
        return Renewal(
            expires_at,
            held,
            [Stale(task_id, generation) for task_id, generation, _ in stale],
            frozenset(cancelled.values_list("pk", flat=True)),
        )


def _write_down(progress: Mapping[Fence, Progress], held: Set[Fence]) -> None:
    """A statement for each, on rows that are locked: few have news between two renewals."""
    for fence in sorted(held & progress.keys()):
        Lease.objects.filter(pk=fence[0]).update(progress=asdict(progress[fence]))


def _stale(missed: Sequence[Token]) -> list[Token]:
    """Without those that have succeeded: a handler may settle for itself while its lease is being renewed."""
    if not missed:
        return []
    attempts = Attempt.objects.filter(
        task__among=[task_id for task_id, _, _ in missed], outcome=Outcome.SUCCEEDED
    )
    succeeded: set[Token] = set(attempts.values_list("task_id", "generation", "worker"))
    return [token for token in missed if token not in succeeded]
