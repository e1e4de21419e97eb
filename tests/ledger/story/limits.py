"""What one tenant may have, and how fast, in the plainest arithmetic that comes to the same. No database."""

from dataclasses import dataclass
from datetime import datetime

FORGIVEN = 1.0
"""Seconds of debt beyond what the limits allow to be run up: more is explained by a changed limit only."""
ROUNDING = 1e-6


@dataclass
class Limits:
    max_in_flight: int | None = None
    max_queued: int | None = None
    rate_per_second: float | None = None
    rate_burst: int = 1
    retention_seconds: int | None = None
    full_at: float = 0.0
    """When a tenant that enqueues nothing more is owed its whole burst again."""

    def refusal(self, count: int, unfinished: int, now: datetime, *, rated: bool) -> str | None:
        """Which limit stands in the way of so many more tasks. None: they may come in."""
        full = self.max_queued is not None and unfinished + count > self.max_queued
        rate = self.rate_per_second if rated else None
        too_fast = rate is not None and (
            self._debt(now) + count / rate > self.rate_burst / rate + ROUNDING
        )
        if too_fast:
            return "rate_burst" if count > self.rate_burst else "rate_per_second"
        return "max_queued" if full else None

    def charge(self, count: int, now: datetime) -> None:
        if self.rate_per_second is not None:
            self.full_at = now.timestamp() + self._debt(now) + count / self.rate_per_second

    def _debt(self, now: datetime) -> float:
        """In seconds of the rate."""
        if self.rate_per_second is None:
            return 0.0
        debt = max(self.full_at - now.timestamp(), 0.0)
        possible = self.rate_burst / self.rate_per_second
        return 0.0 if debt > possible + FORGIVEN else debt
