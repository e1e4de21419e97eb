"""How to go on when the ledger does not answer: wait, a little longer each time, and say so once."""

import logging
from datetime import timedelta

from django.db import connections

from scheduling import clock, retry

logger = logging.getLogger(__name__)

FIRST_WAIT = timedelta(milliseconds=100)
LONGEST_WAIT = timedelta(seconds=2)


class Outage:
    """Between the first call that failed and the next that succeeds."""

    def __init__(self) -> None:
        self.try_again_at = 0.0
        self._began_at = 0.0
        self._failures = 0

    def is_on(self) -> bool:
        return self._failures > 0

    def go_on(self, error: Exception) -> None:
        """A call failed. The thread's connection is closed, since nothing is known about its state."""
        connections.close_all()
        now = clock.monotonic()
        if not self._failures:
            self._began_at = now
            logger.error("The ledger does not answer, trying until it does: %s", error)
        self._failures += 1
        wait = retry.backoff(self._failures, base=FIRST_WAIT, cap=LONGEST_WAIT)
        self.try_again_at = now + wait.total_seconds()

    def end(self) -> None:
        """A round of calls went well."""
        seconds = clock.monotonic() - self._began_at
        logger.warning("The ledger answers again, after %.1f s.", seconds)
        self._failures = 0
        self.try_again_at = 0.0
