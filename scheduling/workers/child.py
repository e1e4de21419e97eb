"""A worker process as its supervisor sees it, alive and dead."""

import os
import signal
import tempfile
from functools import partial
from uuid import UUID, uuid4

from scheduling.workers import blame, process
from scheduling.workers.appetite import MOST_AHEAD
from scheduling.workers.board import Board, Tally
from scheduling.workers.fork import fork
from scheduling.workers.options import Options
from scheduling.workers.pulse import Pulse
from scheduling.workers.undertaking import Death

TRACEBACK_LIMIT = 4000
"""Characters of a crash's traceback that are kept with the attempt."""


class Child:
    """Forked when it is made. It has its board and its crash report in common with this process."""

    def __init__(self, options: Options, lifeline: tuple[int, int]) -> None:
        """`lifeline` is a pipe. The child waits at its first end for the second, kept here, to be closed."""
        self.worker: UUID = uuid4()
        self.was_killed = False
        self._options = options
        self._pulse = Pulse(options.lease)
        self.board = Board(
            2 * (options.threads + MOST_AHEAD)
        )  # all that is ever claimed and not settled
        self._crash_report = tempfile.TemporaryFile()  # noqa: SIM115  # closed in `forget`
        self.pid = fork(partial(self._live, lifeline))

    def _live(self, lifeline: tuple[int, int]) -> int:
        watched, kept = lifeline
        os.close(kept)
        return process.live(
            self.worker, self._options, self.board, self._crash_report, lifeline=watched
        )

    def ask_to_stop(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End it now. What it ran is not to blame."""
        self.was_killed = True
        os.kill(self.pid, signal.SIGKILL)

    def has_frozen(self) -> bool:
        """Ask once a look: whether it has got nothing done for so long that it never will."""
        return self._pulse.has_stopped(self.board.beats())

    def end_frozen(self) -> None:
        """End it now. Something that it ran is to blame."""
        os.kill(self.pid, signal.SIGKILL)

    def was_of_use(self) -> bool:
        """Whether it got as far as running a task."""
        return bool(self.board.records()) or self.board.tally() != Tally()

    def death(self, status: int) -> Death | None:
        """What is left to do after it ended with that wait status. None: it left nothing behind."""
        if self.board.is_signed_off():
            return None
        crash = blame.crash_in(self.crash_report())
        return Death(
            worker=self.worker,
            blamed=self._blamed(crash),
            note=f"The worker process {how_it_ended(status)}."
            + (f"\n{crash.traceback[:TRACEBACK_LIMIT]}" if crash else ""),
            patience=self._options.lease.total_seconds(),
        )

    def _blamed(self, crash: blame.Crash | None) -> frozenset[tuple[UUID, int]]:
        if self.was_killed or self.board.is_absolved():
            return frozenset()
        return blame.to_blame(
            self.board.records(),
            confessed=self.board.confessed(),
            crashed=crash.thread if crash else None,
        )

    def crash_report(self) -> bytes:
        """Of all its threads, for whoever operates it. Empty if it did not crash."""
        self._crash_report.seek(0)
        return self._crash_report.read()

    def forget(self) -> None:
        self.board.close()
        self._crash_report.close()


def how_it_ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"exited with code {os.waitstatus_to_exitcode(status)}"
