"""Owns how people are told how far something long has come: at a terminal at once, elsewhere now and then."""

from collections.abc import Callable
from enum import Enum

from scheduling import clock

LINE_EVERY = 10.0
"""Seconds between two lines where nobody watches a terminal."""
SHOWN_EVERY = 0.1
"""Seconds between two changes of what a terminal shows."""


class Progress:
    """Called with a phase, what it is at, how many rows are done and of how many; tells the rate and what is left."""

    def __init__(self, show: Callable[[str], None], write: Callable[[str], None] | None) -> None:
        """`show` replaces what it showed before, at a terminal only; `write` appends a line."""
        self._show = show
        self._write = write
        self._phase: Enum | None = None
        self._began_at = 0.0
        self._began_with = 0
        self._shown_at = 0.0
        self._wrote_at = clock.monotonic()

    def __call__(self, phase: Enum, what: str, done: int, total: int) -> None:
        now = clock.monotonic()
        is_new = phase is not self._phase
        if is_new:
            self._phase, self._began_at, self._began_with = phase, now, done
        said = f"{phase.value} {what}"
        if total:
            said += f": {self._of(done, total, now)}"
        if is_new or now - self._shown_at >= SHOWN_EVERY:
            self._show(said)
            self._shown_at = now
        if self._write and (is_new or now - self._wrote_at >= LINE_EVERY):
            self._write(said)
            self._wrote_at = now

    def _of(self, done: int, total: int, now: float) -> str:
        rate = (done - self._began_with) / max(now - self._began_at, 0.001)
        left = f", {rate:.0f} rows/s, {(total - done) / rate:.0f} s left" if rate >= 1 else ""
        return f"{done} of {total} rows ({done * 100 // total} %){left}"
