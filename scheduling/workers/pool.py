"""The loop of a worker process: settle what ended, claim for what is free, and sleep when there is neither.

This thread alone speaks to the ledger, so nothing here needs a lock. It waits in one place, where
everything that can happen wakes it, and looks by itself once a second in case a wake-up was missed.
"""

import logging
import signal
from typing import Protocol
from uuid import UUID

from django.db import Error as DatabaseTrouble

from scheduling import clock, ledger
from scheduling.ledger import wake
from scheduling.workers import verdicts
from scheduling.workers.board import Board
from scheduling.workers.bookkeeper import Bookkeeper
from scheduling.workers.claiming import Claiming
from scheduling.workers.coroutines import Coroutines
from scheduling.workers.declarer import Declarer
from scheduling.workers.doorbell import Doorbell
from scheduling.workers.ears import Ears
from scheduling.workers.executor import Executor
from scheduling.workers.hand import Hand
from scheduling.workers.heart import Heart
from scheduling.workers.held import Held
from scheduling.workers.options import Options
from scheduling.workers.outage import Outage
from scheduling.workers.presence import Presence
from scheduling.workers.promoter import Promoter
from scheduling.workers.reaper import Reaper
from scheduling.workers.slots import Report, Slots
from scheduling.workers.sweeper import Sweeper
from scheduling.workers.ticker import Ticker
from scheduling.workers.timekeeper import Timekeeper
from scheduling.workers.timeouts import FOREVER, Watch

logger = logging.getLogger(__name__)

LAST_WORDS = 5.0
"""Seconds past the grace period in which a ledger that does not answer may still be told of releases."""


class Service(Protocol):
    """Something the loop does now and then."""

    @property
    def due_at(self) -> float:
        """When to run it next, in monotonic seconds."""

    def run(self) -> None:
        """Do it once. A DatabaseError is the loop's to deal with, and it will be run again."""


class Pool:
    """Runs tasks until it is asked to stop."""

    def __init__(
        self, worker: UUID, options: Options, board: Board, bell: Doorbell, lifeline: int
    ) -> None:
        self._worker = worker
        self._grace = options.grace.total_seconds()
        self._bell = bell
        self._ears = Ears(bell, lifeline)
        self._outage = Outage()
        self._hand = Hand(board)
        self._watch = Watch(self._hand.held, self._give_up)
        executor = Executor(self._watch, Coroutines())
        self._slots = Slots(options.threads, executor.execute, board, bell)
        self._heart = Heart(self._hand, options.lease)
        self._promoter = Promoter(self._look_for_work)
        self._ticker = Ticker()
        self._sweeper = Sweeper()
        self._claiming = Claiming(worker, options, self._hand, self._slots, self._watch)
        self._presence = Presence(worker, options)
        self._services: list[Service] = [
            self._presence,
            self._promoter,
            self._ticker,
            self._claiming,
            Reaper(options.lease),
            Bookkeeper(),
            Timekeeper(),
            self._sweeper,
            Declarer(),
        ]
        self._stops_at: float | None = None
        """When the grace period ends. None: nobody asked to stop."""

    def run(self) -> bool:
        """Work until asked to stop, and a grace period longer; whether nothing is held any more."""
        self._watch.start()
        self._slots.start()
        while not self._is_over():
            signals = self._ears.wait(self._next_instant() - clock.monotonic())
            if signal.SIGTERM in signals or self._ears.is_orphan:
                self._stop()
            self._collect()
            if clock.monotonic() >= self._outage.try_again_at:
                self._try_turn()
        return self._hand.is_empty()

    def _is_over(self) -> bool:
        if self._stops_at is None:
            return False
        return self._hand.is_empty() or clock.monotonic() >= self._stops_at + LAST_WORDS

    def _next_instant(self) -> float:
        """When there is something to do without being woken."""
        if self._outage.is_on():
            return self._outage.try_again_at
        if self._hand.has_news():
            return 0.0
        if self._stops_at is not None:
            return min(self._stops_at, self._heart.due_at)
        return min(self._reports_at(), *(one.due_at for one in (self._heart, *self._services)))

    def _reports_at(self) -> float:
        """When to look for reports that nobody rang for."""
        return self._slots.quiet_until if self._slots.waiting() else FOREVER

    def _stop(self) -> None:
        """Claim nothing more. What runs may end within the grace period, what waits is handed back."""
        if self._stops_at is None:
            self._stops_at = clock.monotonic() + self._grace
            self._claiming.take_back()

    def _collect(self) -> None:
        """Take in what the slots have to report."""
        while self._slots.reports:
            report = self._slots.reports.popleft()
            self._hand.conclude(report.held, report.verdict)
            self._claiming.note(report)
            if not report.slot_is_free:
                logger.error("Replacing this process: a handler did not end when its time was up.")
                self._stop()
        if self._stops_at is not None and clock.monotonic() >= self._stops_at:
            self._interrupt()

    def _interrupt(self) -> None:
        """Grace is over: hand back what still runs. Its handlers are told, and end with the process."""
        for held in self._hand.held():
            self._hand.release([held])
            held.lose()

    def _try_turn(self) -> None:
        try:
            self._turn()
        except DatabaseTrouble as error:
            self._ears.stop_listening()
            self._outage.go_on(error)
        else:
            if self._outage.is_on():
                self._outage.end()

    def _turn(self) -> None:
        """Everything there is to say to the ledger now."""
        self._heed(self._ears.topics())
        if self._outage.is_on():
            self._hand_back_strangers()
        if self._heart.due_at <= clock.monotonic():
            self._heart.run()
        if self._hand.has_news():
            if self._stops_at is None and self._claiming.expects_more():
                self._claiming.run()  # so that the slots have work while the ends are settled
            self._hand.settle()
            self._look_for_work()
        if self._stops_at is None:
            for service in self._services:
                if service.due_at <= clock.monotonic():
                    service.run()

    def _heed(self, topics: set[str]) -> None:
        if wake.WORK in topics:
            self._look_for_work()
        if wake.DUE in topics:
            self._promoter.look_now()
        if wake.TICK in topics:
            self._ticker.look_now()
        if wake.SWEEP in topics:
            self._sweeper.look_now()
        if wake.CANCEL in topics:
            self._heart.beat_now()
        if wake.PAUSE in topics:
            self._claiming.take_back()

    def _look_for_work(self) -> None:
        self._claiming.look_now()

    def _hand_back_strangers(self) -> None:
        """End leases that a claim of ours got while its answer was lost on the way. Nobody started them."""
        strangers = [
            lease
            for lease in ledger.held_leases(self._worker)
            if not self._hand.knows(lease.task_id, lease.generation)
        ]
        ledger.reap(strangers, uncharged={lease.task_id for lease in strangers})

    def _give_up(self, held: Held) -> None:
        """Called by the watch. The handler's thread is lost, and this process with it, once the others end."""
        verdict = verdicts.of_endless(held.claim)
        self._slots.reports.append(Report(held, verdict, 0.0, slot_is_free=False))
        self._bell.ring()

    def sign_off(self) -> None:
        """Leave the register. A ledger that does not answer keeps the entry until others find it gone."""
        self._ears.stop_listening()
        try:
            ledger.write_paces()
            self._presence.end()
        except DatabaseTrouble as error:
            logger.warning("Could not sign off: %s", error)
