"""Ends the leases of workers that are really dead, wherever they ran.

The wall clock has no say in it. A renewal changes the lease's `expires_at`, to whatever the database's
clock says at that moment; so a lease that reads the same, look after look, for its whole length on the
monotonic clock of the one who looks, has not been renewed for its whole length. Setting clocks forward
cannot end it early, since the value is compared and never with the time of day; setting them back cannot
keep it, since nobody waits for the time of day to reach it. The ledger ends it only if it still reads so.

Leases of workers that are known to be gone need no waiting. Their supervisor, when there is one, ends them
within milliseconds and knows whom to charge, so it is left the time between two looks.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from scheduling import clock, ledger
from scheduling.ledger.values import HeldLease

logger = logging.getLogger(__name__)

SECOND_LOOK = 0.5
"""Seconds between finding a worker gone and ending its leases."""

Sighting = tuple[UUID, int, datetime]
"""(task, generation, expires_at): another one after every renewal."""


class Reaper:
    """One in every worker process. They may all see the same death; the ledger lets one of them end it."""

    def __init__(self, lease: timedelta) -> None:
        self.due_at = 0.0
        self._period = min(max(lease.total_seconds() / 10, SECOND_LOOK), 3.0)
        self._first_seen: dict[Sighting, float] = {}
        self._gone: frozenset[UUID] = frozenset()

    def run(self) -> None:
        """One look at all leases."""
        leases = ledger.held_leases()
        gone = frozenset(ledger.workers_known_gone()) if leases else frozenset()
        now = clock.monotonic()
        dead = self._dead(leases, gone, now)
        if dead:
            settled = ledger.reap(dead)
            if settled:  # or others were first
                logger.warning("Ended %d leases of workers that are gone or silent.", len(settled))
        self.due_at = now + self._until_next_look(leases, gone, now)
        self._gone = gone

    def _dead(
        self, leases: Sequence[HeldLease], gone: frozenset[UUID], now: float
    ) -> list[HeldLease]:
        before, left_to_nobody = self._first_seen, gone & self._gone
        self._first_seen = {sighting(lease): before.get(sighting(lease), now) for lease in leases}
        return [
            lease
            for lease in leases
            if lease.worker in left_to_nobody
            or now - self._first_seen[sighting(lease)] >= lease.seconds
        ]

    def _until_next_look(
        self, leases: Sequence[HeldLease], gone: frozenset[UUID], now: float
    ) -> float:
        """The usual period, or less if a lease will have been silent for its length before."""
        if gone - self._gone:
            return SECOND_LOOK
        ends = [self._first_seen[sighting(lease)] + lease.seconds - now for lease in leases]
        return min([self._period, *(end for end in ends if end > 0)])


def sighting(lease: HeldLease) -> Sighting:
    return (lease.task_id, lease.generation, lease.expires_at)
