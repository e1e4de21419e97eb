"""Keeps in force what this process's code declares to recur, while workers with older code are started beside it."""

from scheduling import clock, recurring

PERIOD = 10.0
"""Seconds between two looks."""


class Declarer:
    """One in every worker process; whichever is first does it. Costs nothing where no code declares anything."""

    def __init__(self) -> None:
        self.due_at = 0.0

    def run(self) -> None:
        recurring.keep()
        self.due_at = clock.monotonic() + PERIOD
