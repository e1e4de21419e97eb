"""Keeps worker processes running, and ends what they held when they die. It never opens the database.

Signals and deaths arrive as bytes in one pipe, so the supervisor sleeps until something happened, and a
death is dealt with within milliseconds. What has to be told to the ledger then is told by a process forked
for it: the supervisor has no connection that a child could inherit, and no ledger that can hold it up.
"""

import gc
import logging
import os
import selectors
import signal
from functools import partial

from django.db import connections

from scheduling import clock
from scheduling.workers import undertaking
from scheduling.workers.board import Stage, Tally
from scheduling.workers.child import Child, how_it_ended
from scheduling.workers.doorbell import Doorbell
from scheduling.workers.events import Event, Tell, as_told, counted, nobody
from scheduling.workers.fork import HANDLED, fork
from scheduling.workers.options import Options
from scheduling.workers.pulse import LOOK
from scheduling.workers.seat import Seat

logger = logging.getLogger(__name__)

STOPPING = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
REPORT_PERIOD = 60.0
"""Seconds between two progress lines."""
PAST_GRACE = 10.0
"""Seconds after the end of grace that a child may take to hand back what it holds."""


class Supervisor:
    """The parent of all worker processes of one `runworkers`."""

    def __init__(self, options: Options, tell: Tell = nobody) -> None:
        self._options, self._tell = options, tell
        self._seats = [Seat() for _ in range(options.processes)]
        self._undertakers: set[int] = set()
        self._lifeline = os.pipe()
        self._bell = Doorbell()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._earlier = Tally()
        """Of the children that have ended."""
        self._reports_at = clock.monotonic() + REPORT_PERIOD
        self._looks_at = clock.monotonic() + LOOK
        self._kills_at: float | None = None
        """When patience with the children ends. None: nobody asked to stop."""

    def run(self) -> None:
        """Run until SIGTERM, SIGINT or SIGHUP; a second one ends it at once."""
        connections.close_all()  # whatever was asked of the database before, no child inherits it
        gc.freeze()  # pages that the children's collectors never touch stay shared
        self._bell.answer(HANDLED)
        logger.info("Workers start: %s.", self._options)
        self._tell(Event.STARTED, {"pid": os.getpid(), **as_told(self._options)})
        while not self._is_over():
            self._fill_seats()
            self._selector.select(max(self._next_instant() - clock.monotonic(), 0))
            for signum in STOPPING & self._bell.hush():
                self._stop(signal.Signals(signum).name)
            self._bury()
            self._keep_time()
        self._report("Workers stopped", Event.STOPPED)

    def _is_over(self) -> bool:
        return self._kills_at is not None and not self._children() and not self._undertakers

    def _children(self) -> list[Child]:
        return [seat.child for seat in self._seats if seat.child]

    def _fill_seats(self) -> None:
        if self._kills_at is not None:
            return
        for seat in self._seats:
            free_at = seat.free_at()
            if free_at is not None and free_at <= clock.monotonic():
                self._fill(seat)

    def _fill(self, seat: Seat) -> None:
        try:
            child = seat.child = Child(self._options, self._lifeline)
        except OSError as error:
            logger.error("Cannot start a worker process, trying again: %s", error)
            seat.postpone()
        else:
            self._tell(Event.PROCESS_STARTED, {"pid": child.pid, "worker": child.worker})

    def _next_instant(self) -> float:
        if self._kills_at is not None:
            return min(self._kills_at, self._reports_at, self._looks_at)
        tries = [at for seat in self._seats if (at := seat.free_at()) is not None]
        return min([self._reports_at, self._looks_at, *tries])

    def _stop(self, why: str) -> None:
        children = self._children()
        is_first = self._kills_at is None
        self._tell(Event.STOPPING, {"signal": why, "at_once": not is_first})
        if is_first:
            logger.info("%s: workers finish what they run and stop.", why)
            self._kills_at = clock.monotonic() + self._options.grace.total_seconds() + PAST_GRACE
            for child in children:
                child.ask_to_stop()
        else:
            logger.warning("%s again: workers stop now.", why)
            self._kill()

    def _kill(self) -> None:
        for child in self._children():
            child.kill()

    def _keep_time(self) -> None:
        now = clock.monotonic()
        if self._kills_at is not None and now >= self._kills_at:
            self._kills_at = float("inf")
            self._kill()
        if now >= self._looks_at:
            self._looks_at = now + LOOK
            self._end_frozen()
        if now >= self._reports_at:
            self._reports_at = now + REPORT_PERIOD
            self._report("Workers run", Event.RUNNING)

    def _end_frozen(self) -> None:
        for child in self._children():
            if child.has_frozen():
                logger.error("Worker process %d gets nothing done any more; ending it.", child.pid)
                child.end_frozen()

    def _bury(self) -> None:
        """Take leave of every process that ended."""
        for seat in self._seats:
            child = seat.child
            if child and (status := status_of(child.pid)) is not None:
                seat.vacate()
                self._take_leave(child, status)
        self._undertakers = {pid for pid in self._undertakers if status_of(pid) is None}

    def _take_leave(self, child: Child, status: int) -> None:
        death = child.death(status)
        if death:
            log = logger.warning if child.was_killed else logger.error
            report = child.crash_report().decode(errors="replace")
            log("Worker process %d %s.\n%s", child.pid, how_it_ended(status), report)
            self._end_leases(death)
        self._tell(
            Event.PROCESS_ENDED,
            {"pid": child.pid, "worker": child.worker, "died": bool(death)}
            | {"detail": f"It {how_it_ended(status)}."},
        )
        self._earlier += child.board.tally()
        child.forget()

    def _end_leases(self, death: undertaking.Death) -> None:
        try:
            self._undertakers.add(fork(partial(undertaking.end_leases, death)))
        except OSError as error:
            logger.error("Cannot end the leases at once; they end by their length: %s", error)

    def _report(self, heading: str, event: Event) -> None:
        boards = [child.board for child in self._children()]
        tally = sum((board.tally() for board in boards), self._earlier)
        running = sum(
            record.stage is Stage.RUNNING for board in boards for record in board.records()
        )
        logger.info(
            "%s: %d done, %d failed, %d retried, %d refused as stale, %d in flight.",
            heading, tally.done, tally.failed, tally.retried, tally.refused, running,
        )  # fmt: skip
        self._tell(event, counted(tally, running))


def status_of(pid: int) -> int | None:
    """The wait status of a child process that has ended; None while it lives."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return status if ended else None
