"""A place for one worker process, and when it may be taken again after a death."""

from scheduling import clock
from scheduling.workers.child import Child

LONG_LIFE = 5.0
"""Seconds. A process that lived so long is replaced at once; deaths sooner than that add up."""
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 10.0


class Seat:
    def __init__(self) -> None:
        self.child: Child | None = None
        self._early_deaths = 0
        self._free_at = 0.0

    def next_try(self) -> float | None:
        """When a child may be started here (monotonic seconds). None: there is one."""
        return None if self.child else self._free_at

    def vacate(self) -> None:
        """The child died. One that keeps dying young, because nothing works, is not restarted in a frenzy."""
        assert self.child is not None
        self._early_deaths = 0 if self.child.age() >= LONG_LIFE else self._early_deaths + 1
        self.child = None
        pause = FIRST_PAUSE * 2 ** (self._early_deaths - 2) if self._early_deaths > 1 else 0.0
        self._free_at = clock.monotonic() + min(pause, LONGEST_PAUSE)
