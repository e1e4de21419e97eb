"""Owns how requests enqueue: the ledger's verb, and what only HTTP makes of its refusals."""

from collections.abc import Sequence

from django.db import OperationalError

from scheduling import ledger
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.problems import Refused
from scheduling.ledger import Accepted, NewTask, lock_wait

REPLAYED = {"Idempotency-Replayed": "true"}


def enqueue(tasks: Sequence[NewTask]) -> list[Accepted]:
    """Raises Refused when another request under the same key kept the ledger waiting for too long."""
    try:
        return ledger.enqueue(tasks)
    except OperationalError as error:
        if lock_wait.ran_out(error) and any(task.idempotency_key for task in tasks):
            raise Refused(
                Kind.IDEMPOTENCY_KEY_IN_USE,
                "The first request with this key is not finished. Send it again in a moment.",
            ) from error
        raise
