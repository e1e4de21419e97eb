"""Keeps the minutes of throughput few: those that nobody charts any more go into the totals."""

from scheduling import clock, ledger

PERIOD = 60.0
"""Seconds between two looks."""


class Bookkeeper:
    """One in every worker process; whichever is first does it."""

    def __init__(self) -> None:
        self.due_at = 0.0

    def run(self) -> None:
        """One chunk; soon another when there was work, so that nothing waits for it."""
        moved = ledger.prune_throughput()
        self.due_at = clock.monotonic() + (1.0 if moved else PERIOD)
