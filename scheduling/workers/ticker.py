"""Fires the ticks of recurring tasks, at the instant at which each is due."""

from datetime import timedelta

from scheduling import clock, ledger
from scheduling.errors import Overloaded
from scheduling.workers.looks import until_next


class Ticker:
    """One in every worker process; whichever is first does it, and the ledger lets each tick be fired once.

    It runs in the pool's thread and needs no slot, so handlers that take all of them hold up no tick.
    """

    def __init__(self) -> None:
        self.due_at = 0.0

    def look_now(self) -> None:
        """Something may be due sooner than was known."""
        self.due_at = 0.0

    def run(self) -> None:
        """One batch; the next one at once when there is more, after whatever else the pool has to do."""
        try:
            wait = self._fire()
        except Overloaded as full:
            wait = full.retry_after
        self.due_at = clock.monotonic() + wait.total_seconds()

    def _fire(self) -> timedelta:
        """How long to wait after it."""
        fired = ledger.fire_due()
        return until_next(fired.next_look, fired.now, got_on=fired.fired > 0 or fired.looked_at > 0)
