"""Owns how trouble that many requests run into is logged: with its cause, now and then, and how often it was met."""

import logging
from dataclasses import dataclass

from scheduling import clock
from scheduling.api.v1.kinds import Kind

logger = logging.getLogger(__name__)

TELL_EVERY = 10.0
"""Seconds between two lines about one kind of trouble."""


@dataclass(slots=True)
class _Met:
    tell_at: float = 0.0
    untold: int = 0


_met: dict[Kind, _Met] = {}


def note(kind: Kind, cause: object) -> None:
    """Log it, unless the same kind was logged just now: a flood of requests must not flood the log."""
    met = _met.setdefault(kind, _Met())
    if clock.monotonic() < met.tell_at:
        met.untold += 1
        return
    before = f" ({met.untold} more since the last line)" if met.untold else ""
    met.tell_at, met.untold = clock.monotonic() + TELL_EVERY, 0
    logger.error("%s: %s%s", kind.title, cause, before)
