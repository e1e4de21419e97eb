"""When one that waits for instants of the ledger looks again."""

from datetime import datetime, timedelta

from scheduling.ledger.wake import SLOWEST_LOOK

BUSY_LOOK = timedelta(milliseconds=100)
"""When to look again for what is due, and in the hands of somebody else."""
AT_ONCE = timedelta()


def until_next(instant: datetime | None, now: datetime, *, got_on: bool) -> timedelta:
    """How long to wait for an instant, None if nothing is planned; `got_on`: the look that is over did something.

    Never longer than the slowest look, since the time of day may be set.
    """
    if instant is None:
        return SLOWEST_LOOK
    return min(SLOWEST_LOOK, max(instant - now, AT_ONCE if got_on else BUSY_LOOK))
