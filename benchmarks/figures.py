"""What was measured, as people and programs read it: percentiles, shares, ratios, a table, a JSON line. Pure."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

WARM_UP = 0.1
"""The part of a drained backlog that is started before the clock is: processes come up one by one."""


def percentile(values: Iterable[float], percent: float) -> float:
    """The smallest value that so many percent of all do not exceed (nearest rank).

    Raises ValueError when there is none.
    """
    ranked = sorted(values)
    if not ranked:
        raise ValueError("There is no percentile of nothing: no sample was taken.")
    return ranked[max(math.ceil(percent / 100 * len(ranked)), 1) - 1]


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index: 1 when all shares are equal, 1/n when one has everything.

    "A Quantitative Measure of Fairness and Discrimination", R. Jain, D. Chiu and W. Hawe, 1984.
    """
    squares = sum(share * share for share in shares)
    if squares == 0:
        raise ValueError("Nobody got anything, so there are no shares to compare.")
    return sum(shares) ** 2 / (len(shares) * squares)


def drain_rate(started_at: Sequence[float]) -> float:
    """Tasks per second, from the instants at which they started and without the warm-up."""
    ordered = sorted(started_at)
    measured = ordered[int(len(ordered) * WARM_UP) :]
    if len(measured) < 2 or measured[0] == measured[-1]:
        raise ValueError(f"{len(ordered)} starts are too few for a rate.")
    return (len(measured) - 1) / (measured[-1] - measured[0])


@dataclass(frozen=True, slots=True)
class Bound:
    """What a figure, or a ratio, is to be."""

    limit: float
    is_ceiling: bool

    def holds(self, value: float) -> bool:
        return value <= self.limit if self.is_ceiling else value >= self.limit

    def __str__(self) -> str:
        return f"{'≤' if self.is_ceiling else '≥'} {self.limit:,g}"


def at_least(limit: float) -> Bound:
    return Bound(limit, is_ceiling=False)


def at_most(limit: float) -> Bound:
    return Bound(limit, is_ceiling=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of ours, alone or beside a rival's; a value for each round, of which the median counts.

    `must` and `aim` bound the ratio (ours over theirs) when there is a rival, or else our figure itself.
    """

    figure: str
    ours: Sequence[float]
    rival: str = ""
    theirs: Sequence[float] = ()
    must: Bound | None = None
    aim: Bound | None = None

    @property
    def our_figure(self) -> float:
        return median(self.ours)

    @property
    def their_figure(self) -> float | None:
        return median(self.theirs) if self.rival else None

    @property
    def ratio(self) -> float | None:
        """Above 1 is faster for rates, below 1 for times."""
        theirs = self.their_figure
        if theirs is None:
            return None
        return self.our_figure / theirs if theirs else math.inf

    @property
    def is_reached(self) -> bool | None:
        """None: nothing is asked of it."""
        if self.must is None:
            return None
        return self.must.holds(self.our_figure if self.ratio is None else self.ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a benchmark found. The first row holds its main figure."""

    benchmark: str
    database: str
    rows: Sequence[Row]
    notes: Sequence[str] = field(default=())

    def as_json(self) -> str:
        """One line. Of several rows with the same rival, the first stands in `peers` and `ratios`."""
        rivals: dict[str, Row] = {}
        for row in self.rows:
            if row.rival:
                rivals.setdefault(row.rival, row)
        return json.dumps(
            {
                "benchmark": self.benchmark,
                "database": self.database,
                "ours": _short(self.rows[0].our_figure),
                "peers": {rival: _short(row.their_figure) for rival, row in rivals.items()},
                "ratios": {rival: _short(row.ratio) for rival, row in rivals.items()},
                "figures": [_as_dict(row) for row in self.rows],
            },
            ensure_ascii=False,
        )

    def as_table(self) -> str:
        lines = [HEADINGS, *(_cells(row) for row in self.rows)]
        return "\n".join(
            [
                f"{self.benchmark}, {self.database}",
                *_aligned(lines),
                *(f"* {n}" for n in self.notes),
            ]
        )


HEADINGS = ("figure", "ours", "rival", "theirs", "ratio", "must reach", "aim", "reached")
REACHED: Mapping[bool | None, str] = {True: "yes", False: "NO", None: ""}


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.figure,
        _readable(row.our_figure),
        row.rival,
        _readable(row.their_figure),
        _readable(row.ratio),
        str(row.must or ""),
        str(row.aim or ""),
        REACHED[row.is_reached],
    )


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def _as_dict(row: Row) -> dict[str, Any]:
    return {
        "figure": row.figure,
        "ours": _short(row.our_figure),
        "rounds": [_short(value) for value in row.ours],
        "rival": row.rival or None,
        "theirs": _short(row.their_figure),
        "ratio": _short(row.ratio),
        "must_reach": str(row.must) if row.must else None,
        "reached": row.is_reached,
    }


def _short(value: float | None) -> float | None:
    """Four significant digits: more would be noise. JSON knows no infinity."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.4g}")


def _readable(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
