"""Ten years of instants against an independent reading of the rule, which watches the clocks minute by minute.

The reading is a cron daemon that wakes every minute and looks at the wall. A rule of intervals runs when the wall
shows one of its times. A rule of fixed times runs when one came up since the latest time ever shown: put on, the
clocks bring up several at once; put back, they show nothing new until they are past where they were. Days on which
the clocks do not jump are read in one go. It counts in minutes since 1970, and shares no code with the rule.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.recurrence import InvalidRecurrence, Recurrence

DAY = 24 * 60
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_DAY = (date(2011, 7, 1) - EPOCH.date()).days
LAST_DAY = (date(2021, 7, 1) - EPOCH.date()).days

ZONES = [
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Asuncion",
    "America/Caracas",
    "America/Havana",
    "America/New_York",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Casey",
    "Antarctica/Troll",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Asia/Tehran",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Istanbul",
    "Pacific/Apia",
    "Pacific/Chatham",
    "US/Pacific",
    "UTC",
]
JUMPING = [zone for zone in ZONES if zone not in ("Asia/Kathmandu", "UTC")]
ALL_THE_TIME = ["30 2 * * *", "0 0 * * *", "*/20 2 L * *", "5 */12 * * *"]
AROUND_JUMPS = ["45 1,2,3,23 * * *", "*/15 * * * *", "0-59/20 0-23 * * *", "*/7 0-3 * * SUN"]


class Reading:
    """A rule as the daemon understands it."""

    def __init__(self, cron: str) -> None:
        minute, hour, self.day, self.month, self.weekday = cron.split()
        self.times = {60 * h + m for h in _numbers(hour, 0, 23) for m in _numbers(minute, 0, 59)}
        self.counts_real_time = minute.startswith("*") or hour.startswith("*")
        self.names_day = cache(self._names_day)

    def names(self, wall: int) -> bool:
        return wall % DAY in self.times and self.names_day(wall // DAY)

    def _names_day(self, number: int) -> bool:
        day = EPOCH.date() + timedelta(days=number)
        if day.month not in _numbers(self.month, 1, 12):
            return False
        last = (day + timedelta(days=1)).day == 1
        by_day = any(
            last if part == "L" else day.day in _numbers(part, 1, 31)
            for part in self.day.split(",")
        )
        weekdays = {n % 7 for n in _numbers(self.weekday.replace("SUN", "0"), 0, 7)}
        by_weekday = day.isoweekday() % 7 in weekdays
        if self.day.startswith("*") or self.weekday.startswith("*"):
            return by_day and by_weekday
        return by_day or by_weekday

    def runs(self, zone: ZoneInfo, days: range) -> Iterator[int]:
        latest = days[0] * DAY - 1 + _offset(zone, days[0] * DAY - 1)
        for day in days:
            walls = _walls(zone, day)
            if isinstance(walls, range) and walls[0] > latest:  # a quiet day: all of it is new
                yield from self._quiet_day(day * DAY, walls)
                latest = walls[-1]
                continue
            for minute, wall in enumerate(walls):
                came_up = [wall] if self.counts_real_time else range(latest + 1, wall + 1)
                if any(self.names(each) for each in came_up):
                    yield day * DAY + minute
                latest = max(latest, wall)

    def _quiet_day(self, start: int, walls: range) -> list[int]:
        midnights = (walls[0] // DAY * DAY, walls[-1] // DAY * DAY)
        days = {midnight for midnight in midnights if self.names_day(midnight // DAY)}
        shown = (midnight + time for midnight in days for time in self.times)
        return sorted(start + wall - walls[0] for wall in shown if wall in walls)


@cache
def _numbers(field: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        start, _, end = span.partition("-")
        first, last = (low, high) if span == "*" else (int(start), int(end or start))
        found.update(range(first, last + 1, int(step or 1)))
    return frozenset(found)


@cache
def _walls(zone: ZoneInfo, day: int) -> range | list[int]:
    """What the clocks show in each minute of a day of UTC: a range, if they just run on."""
    minutes = range(day * DAY, (day + 1) * DAY)
    ahead = {_offset(zone, minute) for minute in range(minutes[0], minutes[-1] + 2, DAY // 4)}
    if len(ahead) == 1:
        first = minutes[0] + ahead.pop()
        return range(first, first + DAY)
    return [minute + _offset(zone, minute) for minute in minutes]


def _offset(zone: ZoneInfo, minute: int) -> int:
    ahead = (EPOCH + timedelta(minutes=minute)).astimezone(zone).utcoffset()
    assert ahead is not None
    return int(ahead.total_seconds()) // 60


def _by_the_rule(cron: str, zone: str, days: range) -> list[int]:
    start, end = (EPOCH + timedelta(days=day) for day in (days[0], days[-1] + 1))
    rule = Recurrence(cron=cron, timezone=zone)
    due = takewhile(lambda each: each.at < end, rule.after(start - timedelta(seconds=1)))
    return [int((each.at - EPOCH).total_seconds()) // 60 for each in due]


@cache
def _days_with_a_jump(name: str) -> list[int]:
    zone = ZoneInfo(name)
    return [day for day in range(FIRST_DAY, LAST_DAY) if isinstance(_walls(zone, day), list)]


@pytest.mark.parametrize("zone", ZONES)
def test_ten_years_are_those_that_the_clocks_show(zone: str) -> None:
    decade = range(FIRST_DAY, LAST_DAY)
    for cron in ALL_THE_TIME:
        assert _by_the_rule(cron, zone, decade) == list(Reading(cron).runs(ZoneInfo(zone), decade))
    for cron in AROUND_JUMPS:
        for day in _days_with_a_jump(zone):
            around = range(day - 1, day + 3)
            assert _by_the_rule(cron, zone, around) == list(
                Reading(cron).runs(ZoneInfo(zone), around)
            )


def _spans(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(sorted).map(lambda ends: f"{ends[0]}-{ends[1]}")
    star = st.integers(2, high - low).map(lambda step: f"*/{step}")
    return st.one_of(
        st.just("*"), star, st.lists(number.map(str) | span, min_size=1, max_size=3).map(",".join)
    )


CRONS = st.tuples(
    _spans(0, 59), _spans(0, 23), _spans(1, 31) | st.just("L"), _spans(1, 12), _spans(0, 7)
).map(" ".join)
JUMPS = st.sampled_from(JUMPING).flatmap(
    lambda zone: st.tuples(st.just(zone), st.sampled_from(_days_with_a_jump(zone)))
)


@settings(max_examples=100)
@given(cron=CRONS, jump=JUMPS)
def test_any_rule_around_any_jump_is_what_the_clocks_show(cron: str, jump: tuple[str, int]) -> None:
    zone, day = jump
    around = range(day - 1, day + 3)
    try:
        due = _by_the_rule(cron, zone, around)
    except InvalidRecurrence as refused:
        if "never fires" not in refused.message:
            raise
        return
    assert due == list(Reading(cron).runs(ZoneInfo(zone), around))
