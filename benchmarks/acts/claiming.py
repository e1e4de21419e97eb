"""Claiming and settling, timed verb by verb in one process."""

import time
from collections.abc import Sequence
from uuid import uuid4

from scheduling import ledger
from scheduling.ledger.values import Claim, NewTask, Settlement, Succeed

WARM_UP = 20
"""Claims that compile statements and warm caches."""


def time_verbs(count: int, limit: int) -> dict[str, list[float]]:
    """Milliseconds of so many claims, each of up to `limit` tasks, and of settling them.

    What was finished is enqueued again in between, so that the backlog stays as deep as it was.
    """
    worker = uuid4()
    claim_ms, settle_ms = [], []
    for _ in range(WARM_UP + count):
        begun = time.perf_counter()
        claims = ledger.claim(worker, limit=limit).claims
        claimed = time.perf_counter()
        ledger.settle([Settlement(claim, Succeed()) for claim in claims])
        settled = time.perf_counter()
        if len(claims) < limit:
            raise RuntimeError(f"Only {len(claims)} of {limit} tasks were to be had.")
        claim_ms.append((claimed - begun) * 1000)
        settle_ms.append((settled - claimed) * 1000)
        _replace(claims)
    return {"claim": claim_ms[WARM_UP:], "settle": settle_ms[WARM_UP:]}


def _replace(claims: Sequence[Claim]) -> None:
    ledger.enqueue(
        [
            NewTask(tenant_id=claim.tenant_id, name=claim.name, args_json=claim.args_json)
            for claim in claims
        ]
    )
