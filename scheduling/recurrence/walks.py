"""Three ways to walk along a rule: fixed times of day, cron's intervals, and an interval from an anchor.

Each yields instants strictly after `start`, ascending, and says what a jump of the clocks does to them. cronsim is
asked for wall-clock times only. What it makes of zones itself is right where clocks jump by whole hours, but it
steps over half of one (Lord Howe), and after the second showing of an hour it names an instant that is past.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import count, takewhile
from zoneinfo import ZoneInfo

from scheduling.recurrence import zones
from scheduling.recurrence.cron import Cron

_SECOND = timedelta(seconds=1)
_LONGEST_JUMP = timedelta(days=1, hours=2)
"""No clocks were ever put back by more: a day, on some islands, when the date line moved."""

_EVERY_YEAR_BEGINS = datetime(2101, 1, 1)  # noqa: DTZ001  # wall-clock time: of no zone
_EVERY_YEAR_ENDS = datetime(2129, 1, 1)  # noqa: DTZ001
"""In these 28 years each date falls on each weekday that it can, 29 February too, so they stand for all that follow. They
lie beyond the jumps that zone data lists one by one, for some zones up to 2087: here a zone has one rule for every year."""


class Dst(StrEnum):
    """What a jump of the clocks does to an instant of a rule."""

    NONE = ""
    MOVED = "moved"
    """A fixed time that the clocks leave out: it runs right after the jump."""
    REPEATED = "repeated"
    """A fixed time that the clocks show twice: this is the first, and the one that runs."""
    BOTH = "both"
    """An interval at a time that the clocks show twice: it runs both times, because real time counts."""
    SKIPPED = "skipped"
    """It does not run: a fixed time shown for the second time, or an interval's time that is left out."""


@dataclass(frozen=True, slots=True)
class Instant:
    """One instant at which a rule is due. `at` is in UTC, `local` is the same in the zone of the rule."""

    at: datetime
    local: datetime
    dst: Dst = Dst.NONE


def fixed_times(cron: Cron, zone: ZoneInfo, start: datetime) -> Iterator[Instant]:
    """Times of day: every one runs once. One left out runs right after the jump, with others moved there as one."""
    last, second_showings = start, deque[datetime]()
    for wall in cron.after(_far_enough_back(zone, start)):
        placed = zones.place(zone, wall)
        while second_showings and second_showings[0] < placed.at:
            if (again := second_showings.popleft()) > start:
                yield _instant(again, zone, Dst.SKIPPED)
        if placed.again:
            second_showings.append(placed.again)
        if placed.at > last:
            yield _instant(placed.at, zone, _fate(placed))
            last = placed.at


def _far_enough_back(zone: ZoneInfo, start: datetime) -> datetime:
    """The wall-clock time from which no time that is shown after `start` is missed, for the second time or at all."""
    before, after = (zones.offset(zone, start + by) for by in (-_LONGEST_JUMP, _LONGEST_JUMP))
    return zones.wall(zone, start) - (_LONGEST_JUMP if before != after else timedelta())


def _fate(placed: zones.Placed) -> Dst:
    if placed.moved:
        return Dst.MOVED
    return Dst.REPEATED if placed.again else Dst.NONE


def real_intervals(cron: Cron, zone: ZoneInfo, start: datetime) -> Iterator[Instant]:
    """Intervals: every real minute at which the clocks show a time of the rule.

    Within a span the clocks just run, so the times that come next are those of the one before, unless the clocks were
    put back behind where it got to. Times that a jump leaves out are skipped together, at the jump.
    """
    reached = zones.wall(zone, start)
    times = cron.after(reached)
    upcoming = next(times, None)
    for span in zones.spans(zone, start):
        opens = span.opens
        if opens <= reached and span.start != start:
            times = cron.after(opens - _SECOND)
            upcoming = next(times, None)
        left_out = upcoming is not None and upcoming < opens
        while upcoming is not None and upcoming < opens:
            upcoming = next(times, None)
        if left_out and upcoming != opens:
            yield _instant(span.start, zone, Dst.SKIPPED)
        while upcoming is not None and (at := span.instant(upcoming)) < span.end:
            yield _instant(at, zone, Dst.BOTH if zones.comes_twice(zone, upcoming) else Dst.NONE)
            reached, upcoming = upcoming, next(times, None)
        if upcoming is None:
            return


@lru_cache(maxsize=4096)
def never_runs(cron: Cron, zone: ZoneInfo) -> bool:
    """Whether the clocks of a zone leave out each time of a rule of intervals, year after year.

    Of any other rule this knows with the first time it looks at. For a year that repeats, a rule that does run is
    never silent for longer than 40 of them, because 29 February may be a Sunday no sooner: so every walk ends.
    """
    times = cron.after(_EVERY_YEAR_BEGINS - _SECOND)
    soon = takewhile(lambda wall: wall < _EVERY_YEAR_ENDS, times)
    return all(zones.is_left_out(zone, wall) for wall in soon)


def interval(
    every: timedelta, anchor: datetime, zone: ZoneInfo, start: datetime
) -> Iterator[Instant]:
    """Every so many seconds of real time, in step with the anchor. Arithmetic: how far away that is does not matter."""
    for step in count((start - anchor) // every + 1):
        try:
            yield _instant(anchor + step * every, zone, Dst.NONE)
        except OverflowError:  # the calendar ends
            return


def _instant(at: datetime, zone: ZoneInfo, dst: Dst) -> Instant:
    return Instant(at.astimezone(UTC), at.astimezone(zone), dst)
