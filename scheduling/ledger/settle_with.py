"""Settling together with what else a transaction writes: both are committed, or neither."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction
from django.db.transaction import TransactionManagementError

from scheduling.errors import StaleLease
from scheduling.ledger.dialects import dialect
from scheduling.ledger.refuse import refuse
from scheduling.ledger.settle import end, token_of
from scheduling.ledger.values import Claim, Verdict
from scheduling.models import Lease


@contextmanager
def settle_with(
    claim: Claim, verdict: Callable[[], Verdict], *, now: datetime | None = None
) -> Iterator[None]:
    """Commit what the block writes together with the end of the claim, which `verdict` is asked for last.

    Opens the outermost transaction: inside another one nothing would be committed here, and Django raises
    RuntimeError. The lease is ended after the block, so that rows of the ledger that others wait for are
    locked last and for no longer than the commit takes; on SQLite the block holds the write lock throughout.

    Raises StaleLease, with everything rolled back and the refusal recorded, once another generation has the
    task or had it. Unlike `settle`, this does not forgive saying a thing twice: the block's rows would be
    there twice. Raises TransactionManagementError when the block has marked its transaction for rollback.
    """
    with transaction.atomic(durable=True):
        yield
        if transaction.get_rollback():
            raise TransactionManagementError(
                "The block swallowed a database error or asked for a rollback, so there is nothing to commit."
            )
        is_held = _end(claim, verdict(), now)
        if not is_held:
            transaction.set_rollback(True)
    if not is_held:
        raise _refused(claim, now)


def _end(claim: Claim, verdict: Verdict, now: datetime | None) -> bool:
    db = dialect()
    if not db.end_leases([token_of(claim)]):
        return False
    end(db, [(claim, verdict)], now or db.now())
    return True


def _refused(claim: Claim, now: datetime | None) -> StaleLease:
    refuse([token_of(claim)], "settle", now or dialect().now())
    current = Lease.objects.filter(pk=claim.task_id).values_list("generation", flat=True).first()
    return StaleLease(claim.task_id, claim.generation, current)
