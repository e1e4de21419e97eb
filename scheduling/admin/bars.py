"""Lengths for what pages draw, which carry no styles of their own. Pure."""

from dataclasses import dataclass
from datetime import timedelta

WIDTH = 100.0
LEAST = 0.5


@dataclass(frozen=True, slots=True)
class Span:
    """One run: first it waited, then it ran."""

    waited: float
    ran: float


def span(waited: timedelta, ran: timedelta, longest: timedelta) -> Span:
    """To the scale of the longest run of the task."""
    most = longest.total_seconds()
    parts = (scaled(part.total_seconds(), most, WIDTH, LEAST) for part in (waited, ran))
    return Span(*parts)


def scaled(value: float, most: float, whole: float, least: float) -> float:
    """`whole` is for the most. Anything that happened can be seen: it has the least at least."""
    if value <= 0 or most <= 0:
        return 0.0
    return round(max(value / most * whole, least), 2)
