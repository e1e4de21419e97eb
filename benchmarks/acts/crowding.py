"""Clients that enqueue at once, and a worker that claims meanwhile."""

import time
from uuid import uuid4

from django.db import connection

from benchmarks.prompter import cue
from benchmarks.tasks import noop
from scheduling import ledger
from scheduling.ledger.values import Settlement, Succeed

A_TASK = 0.005
"""Seconds between two claims, as if something was run."""


def enqueue(seconds: float, *, tenant: str) -> int:
    """Enqueue one by one until the time is up; how many."""
    task = noop.using(tenant=tenant)
    task.enqueue(0, 0.0)
    cue()
    count, ends_at = 0, time.monotonic() + seconds
    while time.monotonic() < ends_at:
        task.enqueue(0, 0.0)
        count += 1
    return count


def claim(seconds: float, limit: int) -> list[float]:
    """Claim and settle until the time is up; how long each claim took, in milliseconds."""
    worker = uuid4()
    connection.ensure_connection()
    cue()
    took_ms, ends_at = [], time.monotonic() + seconds
    while time.monotonic() < ends_at:
        begun = time.perf_counter()
        claims = ledger.claim(worker, limit=limit).claims
        took_ms.append((time.perf_counter() - begun) * 1000)
        ledger.settle([Settlement(claim, Succeed()) for claim in claims])
        time.sleep(A_TASK)
    return took_ms
