"""Looks at the scene's ledger: whether what was measured is also what was kept."""

import time

from django.db.models import Sum

from scheduling.ledger import check
from scheduling.models import Attempt, Outflow, Task
from scheduling.states import TaskState

PATIENCE = 60.0
A_LOOK = 0.05


def wait_until_settled(count: int) -> None:
    """Until so many tasks are finished, each with its history and all invariants intact. Raises RuntimeError."""
    ends_at = time.monotonic() + PATIENCE
    while _finished() < count and time.monotonic() < ends_at:
        time.sleep(A_LOOK)
    succeeded = Task.objects.filter(state=TaskState.SUCCEEDED).count()
    attempts = Attempt.objects.count()
    if not succeeded == attempts == count:
        raise RuntimeError(
            f"Of {count} tasks {succeeded} succeeded, in {attempts} attempts: what was measured is not"
            " what was promised."
        )
    check_invariants()


def check_invariants() -> None:
    """Raises RuntimeError with every violation."""
    if violations := check.violations():
        raise RuntimeError("\n".join(violations))


def _finished() -> int:
    return Outflow.objects.aggregate(all=Sum("finished"))["all"] or 0
