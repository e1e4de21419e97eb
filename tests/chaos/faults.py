"""Does what the plan says, and puts everything right in the end.

A fault is a generator: it strikes, yields the seconds to wait, and undoes what has to be undone, also when
it is closed before its time. All of them run in the thread of the caller.
"""

import heapq
import time
from collections.abc import Generator, Sequence
from itertools import count

from scheduling.clock import monotonic
from tests.chaos import clocks
from tests.chaos.plan import Planned
from tests.chaos.processes import Program
from tests.chaos.stage import Stage
from tests.chaos.strikes import Strikes

LOOK = 0.05
RESTS = 1.0
"""Seconds between two starts of one program."""


class Faults:
    """The timetable."""

    def __init__(self, stage: Stage) -> None:
        self.strikes = Strikes(stage)
        self._stage = stage
        self._started_at: dict[Program, float] = {}
        self._under_way: list[tuple[float, int, Generator[float]]] = []
        self._numbers = count()

    def run(self, planned: Sequence[Planned], seconds: float) -> None:
        """For that long. What goes on then goes on until `calm`."""
        began_at = monotonic()
        for fault in planned:
            self._push(began_at + fault.at, self.strikes.course(fault))
        while monotonic() < began_at + seconds:
            self.keep_up()
            while self._under_way and self._under_way[0][0] <= monotonic():
                self._go_on(heapq.heappop(self._under_way)[2])
            time.sleep(LOOK)

    def undo(self) -> None:
        """Everything that stands, however the run ends."""
        while self._under_way:
            self._under_way.pop()[2].close()

    def calm(self) -> None:
        """Undo all but the clocks. These are set ahead: what a stepped clock put off is due then."""
        self.undo()
        for clock in self._stage.clocks:
            clock.step(2 * clocks.HOUR)
        self.keep_up()

    def keep_up(self) -> None:
        """Start what is not running."""
        for program in self._stage.programs:
            rested = monotonic() - self._started_at.get(program, 0.0) > RESTS
            if rested and not program.is_running():
                program.start()
                self._started_at[program] = monotonic()

    def _push(self, at: float, course: Generator[float]) -> None:
        heapq.heappush(self._under_way, (at, next(self._numbers), course))

    def _go_on(self, course: Generator[float]) -> None:
        wait = next(course, None)
        if wait is not None:
            self._push(monotonic() + wait, course)
