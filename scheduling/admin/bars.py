"""Lengths for the drawn parts of a timeline, which carries no styles of its own. Pure."""

from dataclasses import dataclass
from datetime import timedelta

WIDTH = 100.0
LEAST = 0.5
"""Anything that happened can be seen."""


@dataclass(frozen=True, slots=True)
class Span:
    """One run: first it waited, then it ran."""

    waited: float
    ran: float


def span(waited: timedelta, ran: timedelta, longest: timedelta) -> Span:
    """To the scale of the longest run of the task."""
    most = longest.total_seconds()
    return Span(_scaled(waited.total_seconds(), most), _scaled(ran.total_seconds(), most))


def _scaled(value: float, most: float) -> float:
    if value <= 0 or most <= 0:
        return 0.0
    return round(max(value / most * WIDTH, LEAST), 2)
