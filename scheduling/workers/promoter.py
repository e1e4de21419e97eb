"""Makes what has become due ready, at the instant it is due."""

from collections.abc import Callable

from scheduling import clock, ledger
from scheduling.workers.looks import until_next


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
        got_on = promotion.promoted > 0
        wait = until_next(promotion.next_due, promotion.now, got_on=got_on)
        self.due_at = clock.monotonic() + wait.total_seconds()
        if got_on:
            self._work_is_ready()
