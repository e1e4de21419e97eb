"""Time zones: their names, when their clocks jump, and which instant a wall-clock time is. Knows no rules.

Only the public face of zoneinfo is used: the jumps of a year are found by looking at its days and halving.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from scheduling.recurrence.errors import InvalidRecurrence, shown

EARLIEST = datetime(1, 1, 3, tzinfo=UTC)
LATEST = datetime(9999, 12, 29, tzinfo=UTC)
"""Between these, every zone can tell the time; Python's calendar ends a day or two beyond."""

_MEANS_SOMETHING_ELSE_ELSEWHERE = {"localtime", "Factory"}
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)


def named(name: str) -> ZoneInfo:
    """The zone, under the spelling of the IANA database, whatever case the name is in. Raises InvalidRecurrence."""
    spelled = _spellings().get(name.casefold())
    if spelled is None:
        raise InvalidRecurrence(
            "timezone", f"{shown(name)} is no IANA time zone. Write one like Europe/Berlin or UTC"
        )
    return ZoneInfo(spelled)


def names() -> list[str]:
    """Of every zone there is."""
    return sorted(_spellings().values())


@lru_cache(maxsize=1)
def _spellings() -> dict[str, str]:
    names = available_timezones() - _MEANS_SOMETHING_ELSE_ELSEWHERE
    return {name.casefold(): name for name in names}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, from `start` up to but not including `end`, in which the clocks do not jump."""

    start: datetime
    end: datetime
    offset: timedelta

    @property
    def opens(self) -> datetime:
        """What the clocks show at its start."""
        return (self.start + self.offset).replace(tzinfo=None)

    def instant(self, wall: datetime) -> datetime:
        """When the clocks show a time, or would if this stretch lasted."""
        return wall.replace(tzinfo=UTC) - self.offset


def spans(zone: ZoneInfo, start: datetime) -> Iterator[Span]:
    """The stretches from an instant on, without a hole, until the calendar ends. They end with the year at the latest."""
    for year in range(start.year, LATEST.year + 1):
        for end in (*_jumps(zone.key, year), _end_of(year)):
            if end > start:
                yield Span(start, end, offset(zone, start))
                start = end


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a wall-clock time lies: its instant; the second one, if it comes twice; whether it was moved, if it never comes."""

    at: datetime
    again: datetime | None = None
    moved: bool = False


def place(zone: ZoneInfo, wall: datetime) -> Placed:
    """The instant of a wall-clock time: the first of two, or that of the jump which left it out."""
    before, after = (_offset_by_wall(zone, wall, fold) for fold in (0, 1))
    earlier = wall.replace(tzinfo=UTC) - before
    if before == after:
        return Placed(earlier)
    other = wall.replace(tzinfo=UTC) - after
    if before > after:  # the clocks were put back: it comes twice
        return Placed(earlier, again=other)
    return Placed(_jump_between(zone, other, earlier), moved=True)


def comes_twice(zone: ZoneInfo, wall: datetime) -> bool:
    """Whether the clocks show this time on two occasions."""
    return _offset_by_wall(zone, wall, 0) > _offset_by_wall(zone, wall, 1)


def is_left_out(zone: ZoneInfo, wall: datetime) -> bool:
    """Whether a jump of the clocks keeps them from ever showing this time."""
    return _offset_by_wall(zone, wall, 0) < _offset_by_wall(zone, wall, 1)


def wall(zone: ZoneInfo, instant: datetime) -> datetime:
    """What the clocks show at an instant, without a zone."""
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    """How far the zone is ahead of UTC at an instant."""
    ahead = instant.astimezone(zone).utcoffset()
    assert ahead is not None  # nosec B101  # for the type checker
    return ahead


def _offset_by_wall(zone: ZoneInfo, wall: datetime, fold: int) -> timedelta:
    ahead = zone.utcoffset(wall.replace(fold=fold))
    assert ahead is not None  # nosec B101  # for the type checker
    return ahead


@lru_cache(maxsize=8192)
def _jumps(key: str, year: int) -> tuple[datetime, ...]:
    """When the clocks of a zone jump in a year, ascending. Two jumps within a day that undo each other count for none."""
    zone, end = ZoneInfo(key), _end_of(year)
    day, found = max(datetime(year, 1, 1, tzinfo=UTC), EARLIEST), []
    while day < end:
        next_day = min(day + _DAY, end)
        if offset(zone, day) != offset(zone, next_day):
            found.append(_jump_between(zone, day, next_day))
        day = next_day
    return tuple(found)


def _end_of(year: int) -> datetime:
    return min(datetime(year, 12, 31, tzinfo=UTC) + _DAY, LATEST) if year < LATEST.year else LATEST


def _jump_between(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The first instant, to the second, at which the offset is no longer that of `before`. It is another at `after`."""
    first = offset(zone, before)
    while after - before > _SECOND:
        middle = before + (after - before) // _SECOND // 2 * _SECOND
        before, after = (middle, after) if offset(zone, middle) == first else (before, middle)
    return after
