"""The time of day and the passage of time: the only place that reads either.

Everything else takes `now` as an argument or asks here, so that a test can move time by hand.
"""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """The wall clock, aware, in UTC. For instants that people read; never to measure a duration."""
    return datetime.now(UTC)


def unix_nanoseconds() -> int:
    """The wall clock as a number, for what orders by it: ids, and the spans of a trace."""
    return time.time_ns()


def monotonic() -> float:
    """Seconds on a clock that nobody can set. For durations and timeouts inside one process."""
    return time.monotonic()
