"""Renewing: a worker says that it is still at it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from scheduling.ledger.claim import LEASE
from scheduling.ledger.dialects import Token, dialect
from scheduling.ledger.refuse import refuse
from scheduling.ledger.settle import token_of
from scheduling.ledger.values import Claim, Renewal, Stale
from scheduling.models import Attempt, Task
from scheduling.states import Outcome


def renew(
    claims: Sequence[Claim], *, lease: timedelta = LEASE, now: datetime | None = None
) -> Renewal:
    """Extend the leases of claims to `lease` from now, in one transaction.

    Stale ones are refused and recorded, and do not disturb the others; one that succeeded as this claim is
    not stale. The answer also says which of the tasks somebody asked to cancel.
    """
    db = dialect()
    with transaction.atomic():
        tokens = [token_of(claim) for claim in claims]
        expires_at, renewed = db.renew(tokens, now, lease.total_seconds())
        stale = _stale([claim for claim in claims if token_of(claim) not in renewed])
        if stale:
            refuse(stale, "renew", expires_at - lease)
        tasks = Task.objects.filter(pk__among=[task_id for task_id, _, _ in renewed])
        cancelled = tasks.filter(cancel_requested_at__isnull=False)
        return Renewal(
            expires_at,
            [Stale(claim.task_id, claim.generation) for claim in stale],
            frozenset(cancelled.values_list("pk", flat=True)),
        )


def _stale(missed: Sequence[Claim]) -> list[Claim]:
    """Without those that have succeeded: a handler may settle for itself while its lease is being renewed."""
    if not missed:
        return []
    attempts = Attempt.objects.filter(
        task__among=[claim.task_id for claim in missed], outcome=Outcome.SUCCEEDED
    )
    succeeded: set[Token] = set(attempts.values_list("task_id", "generation", "worker"))
    return [claim for claim in missed if token_of(claim) not in succeeded]
