"""The record of those who spoke for a lease they no longer held."""

from collections.abc import Sequence
from datetime import datetime

from scheduling.ledger.values import Claim
from scheduling.models import Refusal, Task


def refuse(claims: Sequence[Claim], verb: str, now: datetime) -> None:
    """Keep one row for each. A task that was pruned meanwhile leaves none: nothing is there to tell of."""
    known = set(
        Task.objects.filter(pk__among=[claim.task_id for claim in claims]).values_list(
            "pk", flat=True
        )
    )
    Refusal.objects.bulk_create(
        Refusal(
            task_id=claim.task_id,
            generation=claim.generation,
            worker=claim.worker,
            verb=verb,
            refused_at=now,
        )
        for claim in claims
        if claim.task_id in known
    )
