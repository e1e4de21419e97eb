"""Wakes a thread that waits in a selector: from another thread, or from a signal."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType

RING = b"\0"
"""No signal has the number 0, so a ring and a signal can share one pipe."""
A_PIPEFUL = 65_536


class Doorbell:
    """One thread waits for `fileno` to be readable; everyone else rings.

    Many rings before the waiter looks are one ring: a busy slot pays for a system call only when the
    waiter may be asleep. The order that makes this safe: leave the message, then ring; hush, then
    look for messages.
    """

    def __init__(self) -> None:
        self._exit, self._entry = os.pipe()
        os.set_blocking(self._exit, False)
        os.set_blocking(self._entry, False)
        self._rung = False

    def fileno(self) -> int:
        return self._exit

    def ring(self) -> None:
        if not self._rung:
            self._rung = True
            with suppress(BlockingIOError):  # a full pipe rings as well
                os.write(self._entry, RING)

    def hush(self) -> frozenset[int]:
        """The signals that came since the last call."""
        heard = b""
        with suppress(BlockingIOError):
            heard = os.read(self._exit, A_PIPEFUL)
        self._rung = False
        return frozenset(heard) - {0}

    def answer(self, signums: Iterable[int]) -> None:
        """From now on these signals ring, and do nothing else. For the main thread only.

        One that whoever started this process had blocked stays blocked: it is handed on by other means.
        """
        for signum in signums:
            signal.signal(signum, _only_wake)
        signal.set_wakeup_fd(self._entry, warn_on_full_buffer=False)


def _only_wake(signum: int, frame: FrameType | None) -> None:
    """A signal needs some Python handler, or its number is not written to the wakeup descriptor."""
