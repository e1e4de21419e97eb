"""Owns how long the attempts of a tenant waited and ran, as its figures tell it. For metrics.

Read from what is counted by the minute, never from history. An attempt counts when it ended, so one that still
waits or runs is not in it yet.
"""

from collections.abc import Mapping
from enum import Enum

from scheduling.models.throughput import RAN, WAITED
from scheduling.spread import BOUNDS, Spread


class Timed(Enum):
    """What is timed of an attempt, by its columns: up to each bound, all of them, their seconds."""

    WAIT = (*WAITED, "ended", "wait_seconds")
    RUN = (*RAN, "ended", "run_seconds")


def spread_of(timed: Timed, figures: Mapping[str, float]) -> Spread:
    """Of one row, or of sums of several, by the names of their columns."""
    *up_to, count, seconds = (figures[name] for name in timed.value)
    return Spread(dict(zip(BOUNDS, up_to, strict=True)), count, seconds)
