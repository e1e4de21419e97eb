"""Tells a process that is busy, or waits for the ledger, from one that gets nothing done at all any more.

A handler that never lets the interpreter go, in a regular expression gone wild or in somebody's C code,
stops every thread of its process, and so does one that stops the process by signal. Nobody in there can
keep time then, only the supervisor can.
"""

import math
from datetime import timedelta
from threading import Event

from scheduling.workers.board import Board

BEAT = 1.0
"""Seconds between two beats of a process."""
LOOK = 5.0
"""Seconds between two looks of its supervisor."""
LEAST_PATIENCE = 30.0
"""Seconds; or two leases, if that is more. Its tasks are others' by then."""


def beat(board: Board) -> None:
    """For ever, in a thread of its own."""
    pause = Event()  # one that no stepped clock cuts short or draws out
    while not pause.wait(BEAT):
        board.beat()


class Pulse:
    """Felt look by look. Looks are counted, not seconds: a supervisor that was stopped as well, or a machine
    that slept, is no sign of death."""

    def __init__(self, lease: timedelta) -> None:
        self._looks = math.ceil(max(LEAST_PATIENCE, 2 * lease.total_seconds()) / LOOK)
        self._beats = 0
        self._missed = 0

    def has_stopped(self, beats: int) -> bool:
        """Given how many beats there were so far: whether there was none for too long."""
        self._missed = self._missed + 1 if beats == self._beats else 0
        self._beats = beats
        return self._missed >= self._looks
