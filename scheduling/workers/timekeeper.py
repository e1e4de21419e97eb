"""Adds to the ledger how long its verbs took this process."""

from scheduling import clock, ledger
from scheduling.ledger.paces import PERIOD


class Timekeeper:
    """One in every worker process, for that process."""

    def __init__(self) -> None:
        self.due_at = clock.monotonic() + PERIOD

    def run(self) -> None:
        ledger.write_paces()
        self.due_at = clock.monotonic() + PERIOD
