"""Makes what has become due ready, at the instant it is due."""

from collections.abc import Callable
from datetime import timedelta

from scheduling import clock, ledger
from scheduling.ledger.wake import SLOWEST_LOOK

BUSY_LOOK = timedelta(milliseconds=100)
"""When to look again for what is due in a lane that a transaction under way is making ready."""


class Promoter:
    """One in every worker process; whichever is first does it."""

    def __init__(self, work_is_ready: Callable[[], None]) -> None:
        self.due_at = 0.0
        self._work_is_ready = work_is_ready

    def look_now(self) -> None:
        """Something may be due sooner than was known."""
        self.due_at = 0.0

    def run(self) -> None:
        promotion = ledger.promote()
        wait = SLOWEST_LOOK
        if promotion.next_due is not None:
            least = timedelta(0) if promotion.promoted else BUSY_LOOK
            wait = min(wait, max(promotion.next_due - promotion.now, least))
        self.due_at = clock.monotonic() + wait.total_seconds()
        if promotion.promoted:
            self._work_is_ready()
