"""The record of those who spoke for a lease they no longer held."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from scheduling.ledger import totals
from scheduling.ledger.values import Claim
from scheduling.models import Refusal, Task


def refuse(claims: Sequence[Claim], verb: str, now: datetime) -> None:
    """Keep one row for each, and count it. A task that was pruned meanwhile leaves none: nothing is there to tell of."""
    tenant_of = dict(
        Task.objects.filter(pk__among=[claim.task_id for claim in claims]).values_list(
            "pk", "tenant_id"
        )
    )
    known = [claim for claim in claims if claim.task_id in tenant_of]
    Refusal.objects.bulk_create(
        Refusal(
            task_id=claim.task_id,
            generation=claim.generation,
            worker=claim.worker,
            verb=verb,
            refused_at=now,
        )
        for claim in known
    )
    counts = Counter(tenant_of[claim.task_id] for claim in known)
    totals.add({tenant_id: {"refused": count} for tenant_id, count in counts.items()})
