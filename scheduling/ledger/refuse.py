"""The record of those who spoke for a lease they no longer held."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from scheduling.ledger import totals
from scheduling.ledger.dialects import Token
from scheduling.models import Refusal, Task


def refuse(tokens: Sequence[Token], verb: str, now: datetime) -> None:
    """Keep one row for each, and count it. A task that was pruned meanwhile leaves none: nothing is there to tell of."""
    tasks = Task.objects.filter(pk__among=[task_id for task_id, _, _ in tokens])
    tenant_of = dict(tasks.values_list("pk", "tenant_id"))
    known = [token for token in tokens if token[0] in tenant_of]
    Refusal.objects.bulk_create(
        Refusal(
            task_id=task_id,
            generation=generation,
            worker=worker,
            verb=verb,
            refused_at=now,
        )
        for task_id, generation, worker in known
    )
    counts = Counter(tenant_of[task_id] for task_id, _, _ in known)
    totals.add_refusals(counts)
