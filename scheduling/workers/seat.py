"""A place for one worker process, and when it may be taken again after a death."""

from datetime import timedelta

from scheduling import clock, retry
from scheduling.workers.child import Child

FIRST_PAUSE = timedelta(milliseconds=100)
LONGEST_PAUSE = timedelta(seconds=10)
"""Before the next try, after one and after many processes that could not run anything."""


class Seat:
    """Empty at first, and free at once."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self._useless_lives = 0
        self._free_at = 0.0

    def free_at(self) -> float | None:
        """When a child may be started here, in monotonic seconds. None: there is one."""
        return None if self.child else self._free_at

    def vacate(self) -> None:
        """The child died. One that ran tasks is replaced at once, or a task that kills would idle everyone.

        When processes die without running any, because nothing works here, the pauses grow.
        """
        assert self.child is not None  # nosec B101  # for the type checker
        was_of_use = self.child.was_of_use()
        self.child = None
        if was_of_use:
            self._useless_lives = 0
            self._free_at = clock.monotonic()
        else:
            self.postpone()

    def postpone(self) -> None:
        """A child that ran nothing, or could not even be started."""
        self._useless_lives += 1
        pause = retry.ceiling(self._useless_lives, base=FIRST_PAUSE, cap=LONGEST_PAUSE)
        self._free_at = clock.monotonic() + pause.total_seconds()
