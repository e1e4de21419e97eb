"""Draws what was done of late, as columns in a box of a hundred by a hundred. Pure.

A page carries no styles of its own: lengths are attributes, colours are classes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from scheduling.admin.bars import scaled
from scheduling.admin.series import Period, Slot
from scheduling.admin.words import lasting, number

HEIGHT = 100.0
FILLED = 0.8
"""Of its place a column takes so much."""
LEAST = 2.0

Measure = Callable[[Slot], float]


@dataclass(frozen=True, slots=True)
class Bar:
    css: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """One minute or hour: its bars stand on each other."""

    slot: Slot
    x: float
    bars: tuple[Bar, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    legend: tuple[tuple[str, str], ...]
    """Class and name of each part, from the ground up."""
    peak: str
    """The highest column."""
    columns: tuple[Column, ...]
    told: str
    """All of it in a sentence."""

    @property
    def width(self) -> int:
        return len(self.columns)


def of(slots: Sequence[Slot], period: Period) -> list[Chart]:
    """Throughput, failures and the mean wait."""
    span = "hour" if period is Period.HOUR else "day"
    succeeded = sum(slot.succeeded for slot in slots)
    failed = sum(slot.failed for slot in slots)
    mean = sum(slots[1:], slots[0]).mean_wait
    return [
        _chart(
            "Throughput",
            (("succeeded", "succeeded", lambda slot: slot.succeeded),),
            slots,
            number,
            f"{number(succeeded)} succeeded in the last {span}",
        ),
        _chart(
            "Failures",
            (
                ("retried", "retried", lambda slot: slot.retried),
                ("dead", "dead", lambda slot: slot.dead),
            ),
            slots,
            number,
            f"{number(failed)} failed in the last {span}",
        ),
        _chart(
            "Mean wait",
            (("waited", "due to claimed", _wait_seconds),),
            slots,
            _as_duration,
            f"{'none' if mean is None else lasting(mean)} in the last {span}",
        ),
    ]


def _wait_seconds(slot: Slot) -> float:
    return slot.mean_wait.total_seconds() if slot.mean_wait else 0.0


def _as_duration(seconds: float) -> str:
    return lasting(timedelta(seconds=seconds)) if seconds else "0"


def _chart(
    title: str,
    parts: Sequence[tuple[str, str, Measure]],
    slots: Sequence[Slot],
    said: Callable[[float], str],
    told: str,
) -> Chart:
    peak = max((sum(measure(slot) for _, _, measure in parts) for slot in slots), default=0.0)
    columns = []
    for place, slot in enumerate(slots):
        bars, top = [], HEIGHT
        for css, _, measure in parts:
            height = scaled(measure(slot), peak, HEIGHT - LEAST, LEAST)
            top = round(top - height, 2)
            bars.append(Bar(css, top, height))
        x = place + (1 - FILLED) / 2
        values = tuple(said(measure(slot)) for _, _, measure in parts)
        columns.append(Column(slot, round(x, 2), tuple(bars), values))
    legend = tuple((css, name) for css, name, _ in parts)
    return Chart(title, legend, said(peak), tuple(columns), told)
