"""Claims as much as the slots can start at once, and a little ahead when tasks are short."""

from collections import deque
from uuid import UUID

from scheduling import clock, ledger
from scheduling.ledger.wake import SLOWEST_LOOK
from scheduling.workers import appetite
from scheduling.workers.hand import Hand
from scheduling.workers.options import Options
from scheduling.workers.slots import Report, Slots
from scheduling.workers.timeouts import FOREVER, Watch

CONTENDED_WAIT = 0.003
"""Seconds after which a claim that met other claims looks again."""
AT_ONCE = 0.0


class Claiming:
    """Between the ledger and the slots. Knows how much room there is, and when to look for work next."""

    def __init__(
        self, worker: UUID, options: Options, hand: Hand, slots: Slots, watch: Watch
    ) -> None:
        self._worker = worker
        self._queues = options.queues
        self._lease = options.lease
        self._hand = hand
        self._slots = slots
        self._watch = watch
        self._run_times: deque[float] = deque(maxlen=appetite.SAMPLES)
        self._claim_times: deque[float] = deque(maxlen=appetite.CLAIM_TIMES)
        self._horizon = appetite.HORIZON
        self._was_filled = False
        self._in_slots = 0
        """Claims given to slots that are not free of them again: waiting, running, zombies."""
        self._looks_at = AT_ONCE
        self._waits_since = AT_ONCE

    @property
    def due_at(self) -> float:
        patience_ends_at = self._patience_ends_at() if self._slots.waiting() else FOREVER
        return min(patience_ends_at, self._looks_at if self._wants_more() else FOREVER)

    def expects_more(self) -> bool:
        """Whether the last claim got all that it asked for, so that there will be as much again."""
        return self._was_filled

    def look_now(self) -> None:
        """There may be work, or a tenant below its cap again."""
        self._looks_at = AT_ONCE

    def note(self, report: Report) -> None:
        if report.slot_is_free:
            self._in_slots -= 1
            self._run_times.append(report.seconds)

    def run(self) -> None:
        """Fill the slots. What other processes could start sooner is handed back."""
        now = clock.monotonic()
        if self._slots.waiting() and now >= self._patience_ends_at():
            self._waits_since = now
            if self._slots.all_busy():
                self.take_back()
        if now >= self._looks_at and self._wants_more():
            self._claim(self._room(), now)

    def take_back(self) -> None:
        """Release what was claimed and not started."""
        taken = self._slots.take_back()
        self._in_slots -= len(taken)
        self._hand.release(taken)

    def _patience_ends_at(self) -> float:
        return max(self._slots.last_start, self._waits_since) + appetite.PATIENCE

    def _wants_more(self) -> bool:
        """With more still waiting than there is room for, a claim would be a small one and soon repeated."""
        room = self._room()
        return room > 0 and room >= self._slots.waiting()

    def _room(self) -> int:
        moving = self._slots.moving(appetite.HORIZON)
        ahead = appetite.ahead(self._run_times, moving, self._horizon)
        return min(self._slots.count + ahead - self._in_slots, self._hand.room())

    def _claim(self, room: int, now: float) -> None:
        got = ledger.claim(
            self._worker,
            limit=room,
            queues=self._queues,
            lease=self._lease,
            expects_few=not self._was_filled,
        )
        self._claim_times.append(clock.monotonic() - now)
        self._horizon = appetite.horizon(self._claim_times)
        self._was_filled = len(got.claims) == room
        if got.contended:
            self._looks_at = now + CONTENDED_WAIT
        elif len(got.claims) < room:
            self._looks_at = now + SLOWEST_LOOK.total_seconds()
        lease_ends_at = now + self._lease.total_seconds()
        many = [
            self._hand.take(claim, claimed_at=now, lease_ends_at=lease_ends_at)
            for claim in got.claims
        ]
        self._slots.put(many, are_short=appetite.are_short(self._run_times))
        self._in_slots += len(got.claims)
        if got.claims:
            self._watch.expect(lease_ends_at)
