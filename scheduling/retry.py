"""When a failed attempt is tried again. Pure: the random source is an argument."""

import random
from datetime import timedelta

FAILED_BASE = timedelta(seconds=4)
"""Before the second attempt of a task whose handler failed: somewhere in the first four seconds."""
LOST_BASE = timedelta(milliseconds=400)
"""After a lost worker the task is seldom to blame, so it comes back at once unless it keeps being lost."""
CAP = timedelta(hours=1)

_MOST_DOUBLINGS = 64
"""2**64 times any base is past any cap; stopping there keeps attempt 10,000 from building a huge integer."""


def backoff(
    attempt: int,
    *,
    base: timedelta = FAILED_BASE,
    cap: timedelta = CAP,
    rng: random.Random | None = None,
) -> timedelta:
    """The delay after the given charged attempt (1, 2, …): full jitter, so a crowd of failures spreads out.

    Uniform between zero and `ceiling(attempt)`; "Exponential Backoff And Jitter", M. Brooker, 2015.
    """
    # The module's own generator is seeded anew in every forked worker; one of ours would not be.
    draw = rng.random() if rng else random.random()  # nosec B311  # jitter, no secret
    return ceiling(attempt, base=base, cap=cap) * draw


def ceiling(attempt: int, *, base: timedelta = FAILED_BASE, cap: timedelta = CAP) -> timedelta:
    """The longest delay `backoff` may draw: base, doubled with every attempt, never past the cap."""
    seconds = base.total_seconds() * 2 ** min(max(attempt, 1) - 1, _MOST_DOUBLINGS)
    return min(timedelta(seconds=min(seconds, cap.total_seconds())), cap)
