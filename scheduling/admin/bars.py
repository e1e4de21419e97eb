"""Lengths and heights for the drawn parts of pages, which carry no styles of their own. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from scheduling.admin.figures import Minute

HEIGHT = 20.0
WIDTH = 100.0
LEAST = 0.5
"""Anything that happened can be seen."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One minute: successes stand on the ground, failures on top of them."""

    minute: Minute
    succeeded_height: float
    failed_height: float

    @property
    def succeeded_top(self) -> float:
        return HEIGHT - self.succeeded_height

    @property
    def failed_top(self) -> float:
        return self.succeeded_top - self.failed_height


def throughput(minutes: Sequence[Minute]) -> list[Bar]:
    """To the scale of the busiest minute."""
    most = max((minute.ended for minute in minutes), default=0)
    return [
        Bar(
            minute,
            _scaled(minute.succeeded, most, HEIGHT),
            _scaled(minute.retried + minute.died, most, HEIGHT),
        )
        for minute in minutes
    ]


@dataclass(frozen=True, slots=True)
class Span:
    """One run: first it waited, then it ran."""

    waited: float
    ran: float


def span(waited: timedelta, ran: timedelta, longest: timedelta) -> Span:
    """To the scale of the longest run of the task."""
    most = longest.total_seconds()
    return Span(
        _scaled(waited.total_seconds(), most, WIDTH), _scaled(ran.total_seconds(), most, WIDTH)
    )


def _scaled(value: float, most: float, size: float) -> float:
    if value <= 0 or most <= 0:
        return 0.0
    return round(max(value / most * size, LEAST), 2)
