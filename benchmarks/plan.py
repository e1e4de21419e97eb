"""How much of a benchmark is run: its size, its rounds, its database, and what it says meanwhile."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from benchmarks.stage import Database

Value = TypeVar("Value")


class Size(Enum):
    FULL = "full"
    QUICK = "quick"
    """Under a minute for a benchmark; the ratios are rougher."""
    SMOKE = "smoke"
    """Only whether it works; what it measures means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run of one benchmark."""

    database: Database
    size: Size = Size.FULL
    rounds: int = 3
    """Interleaved: in each one everybody is measured once."""

    def pick(self, *, full: Value, quick: Value, smoke: Value) -> Value:
        """The one for this run's size."""
        return {Size.FULL: full, Size.QUICK: quick, Size.SMOKE: smoke}[self.size]

    def each_round(self) -> Iterator[int]:
        for number in range(1, self.rounds + 1):
            say(f"round {number} of {self.rounds}")
            yield number


def say(progress: str) -> None:
    """Tell who waits what is going on."""
    sys.stderr.write(f"  {progress}\n")
    sys.stderr.flush()
