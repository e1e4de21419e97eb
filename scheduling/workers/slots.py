"""The threads that run handlers: a fixed set, each taking one claim after the other."""

import os
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from threading import get_ident

from scheduling import clock
from scheduling.ledger.values import Verdict
from scheduling.workers import leftovers
from scheduling.workers.backlog import Backlog
from scheduling.workers.blame import handler_at
from scheduling.workers.board import Board
from scheduling.workers.doorbell import Doorbell
from scheduling.workers.held import Held
from scheduling.workers.vital import end_process, start_vital_thread


@dataclass(frozen=True, slots=True)
class Report:
    """A handler has come to an end, or was given up on."""

    held: Held
    verdict: Verdict
    seconds: float
    """How long it ran."""
    slot_is_free: bool = True


QUIET = 0.005
"""Seconds for which short tasks are reported without ringing, while there are plenty more."""


class Slots:
    """Claims go in at one end, reports come out at the other. Used by one thread, the pool's.

    The bell rings for each report, but for those of short tasks only once the slots are through half of what
    they were given, or some milliseconds later: whoever settles and claims in small batches does so twice.
    """

    def __init__(
        self, count: int, execute: Callable[[Held], Verdict], board: Board, bell: Doorbell
    ) -> None:
        self.count = count
        self.reports: deque[Report] = deque()
        self._execute = execute
        self._board = board
        self._bell = bell
        self._backlog = Backlog(count)
        self._quiet_above = 0
        """As long as more claims than that wait, reports are not rung for."""
        self.quiet_until = 0.0
        """Until then (monotonic seconds). Whoever waits for reports looks by itself at that time."""
        self._busy_since: dict[int, float] = {}
        self.last_start = 0.0
        """When something last went in or was started (monotonic seconds)."""

    def start(self) -> None:
        self._backlog.start()
        for number in range(1, self.count + 1):
            start_vital_thread(f"slot-{number}", self._run)

    def put(self, many: Collection[Held], *, are_short: bool = False) -> None:
        self.last_start = clock.monotonic()
        if are_short:
            self._quiet_above = (len(self._backlog) + len(many)) // 2
            self.quiet_until = self.last_start + QUIET
        else:
            self.quiet_until = 0.0
        self._backlog.put(many, are_short=are_short)

    def waiting(self) -> int:
        """How many claims no slot has got to."""
        return len(self._backlog)

    def take_back(self) -> list[Held]:
        """The claims no slot has got to. No slot will."""
        return self._backlog.take_back()

    def all_busy(self) -> bool:
        return len(self._busy_since) >= self.count

    def moving(self, longest: float) -> int:
        """How many slots are free, or busy for no longer than so many seconds."""
        since = clock.monotonic() - longest
        return self.count - sum(start < since for start in tuple(self._busy_since.values()))

    def _run(self) -> None:
        leftovers.tend_this_thread()
        pid, thread = os.getpid(), get_ident()
        while True:
            held = self._backlog.take()
            report = self._work(held, thread)
            if os.getpid() != pid:  # a handler forked, and its child came back here as well
                end_process(0)
            leftovers.clear()
            self._board.finish(held.place)
            self._busy_since.pop(thread, None)
            self.reports.append(report)
            if not self._is_quiet():
                self._bell.ring()

    def _is_quiet(self) -> bool:
        return len(self._backlog) > self._quiet_above and clock.monotonic() < self.quiet_until

    def _work(self, held: Held, thread: int) -> Report:
        start = self.last_start = self._busy_since[thread] = clock.monotonic()
        claim = held.claim
        self._board.start(held.place, claim.task_id, claim.generation, thread)
        handler_at.set(held.place)
        verdict = self._execute(held)
        return Report(held, verdict, clock.monotonic() - start)
