"""Owns how many of a number of durations were no longer than each of a few bounds. Pure.

Counts of that kind are added up over minutes, tenants and processes, and of every sum it can still be told how
long most of them took: a histogram, as Prometheus means it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

UP_TO = {
    "10ms": 0.01,
    "50ms": 0.05,
    "100ms": 0.1,
    "500ms": 0.5,
    "1s": 1.0,
    "5s": 5.0,
    "10s": 10.0,
    "30s": 30.0,
    "1m": 60.0,
    "5m": 300.0,
    "30m": 1800.0,
}
"""Of waits and runs: the bounds in seconds, by what they are called in the ledger's columns."""
BOUNDS = tuple(UP_TO.values())


def place(seconds: float, bounds: Sequence[float]) -> int:
    """Which of the bounds is the first that it is no longer than; one more than there are, if it is longer."""
    return bisect_left(bounds, seconds)


def counts(seconds: Iterable[float]) -> tuple[int, ...]:
    """How many there are up to each of `BOUNDS`, that bound included; so each count holds the one before."""
    ordered = sorted(seconds)
    return tuple([bisect_right(ordered, bound) for bound in BOUNDS])


@dataclass(frozen=True, slots=True)
class Spread:
    """How a number of durations are spread. Two can be added up."""

    up_to: Mapping[float, float]
    """How many were no longer than so many seconds; in the order of the bounds."""
    count: float
    """All of them."""
    seconds: float
    """All of them together."""

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(
            {bound: count + other.up_to[bound] for bound, count in self.up_to.items()},
            self.count + other.count,
            self.seconds + other.seconds,
        )
