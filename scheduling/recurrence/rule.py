"""The rule of a recurring task: cron or interval, in a zone, between a start and an end."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from scheduling.recurrence import cron as crontab
from scheduling.recurrence import walks, words, zones
from scheduling.recurrence.errors import InvalidRecurrence, shown
from scheduling.recurrence.walks import Dst, Instant

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""What an interval is counted from when nobody says: every 15 minutes is then the quarters of an hour."""
LONGEST_INTERVAL = timedelta(days=36_500)
"""A century: anything longer is a slip of the finger."""

_INSTANT = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule that can be followed: making one raises InvalidRecurrence for what cannot, and for what never fires.

    Exactly one of `cron` and `every` is given; both come out in their canonical form, as does `timezone`.
    `every` is whole seconds, counted in real time from `anchor` in both directions. The first instant is at or after
    `starts_at`, the last one before `ends_at`.
    """

    cron: str | None = None
    every: timedelta | None = None
    anchor: datetime | None = None
    timezone: str = "UTC"
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__  # a frozen dataclass has no other way to tidy what it was given
        put(self, "timezone", zones.named(self.timezone).key)
        for field in ("anchor", "starts_at", "ends_at"):
            put(self, field, _in_utc(getattr(self, field), field))
        if (self.cron is None) == (self.every is None):
            raise InvalidRecurrence("cron", "give exactly one of cron and every_seconds")
        if self.cron is not None:
            put(self, "cron", self._checked_cron(self.cron))
            if self.anchor is not None:
                raise InvalidRecurrence(
                    "anchor", "belongs to every_seconds, and this rule has a cron expression"
                )
        else:
            put(self, "every", _checked_interval(self.every))
            put(self, "anchor", self.anchor or EPOCH)
        self._check_window()

    def _checked_cron(self, expression: str) -> str:
        cron = crontab.parse(expression)
        if cron.names_intervals and walks.never_runs(cron, self.zone):
            raise InvalidRecurrence(
                "cron",
                f"{shown(cron.text)} never fires in {self.timezone}: the clocks leave out each time that it names",
            )
        return cron.text

    def _check_window(self) -> None:
        if self.ends_at is None:
            return
        if self.starts_at is not None and self.ends_at <= self.starts_at:
            raise InvalidRecurrence("ends_at", "must be later than starts_at")
        if self.first() is None:
            raise InvalidRecurrence("ends_at", "leaves the rule no instant to fire at")

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    def after(self, instant: datetime, *, skipped: bool = False) -> Iterator[Instant]:
        """The instants strictly after one, ascending: each once, however often and from wherever one asks.

        It is endless without an `ends_at`. With `skipped`, those that a jump of the clocks keeps from running are
        among them, marked as such, for whoever accounts for them.
        """
        if instant.tzinfo is None:
            raise ValueError("An instant without a zone could be any of twenty-four.")
        start = min(max(instant, zones.EARLIEST), zones.LATEST).astimezone(UTC)
        if self.starts_at is not None:
            start = max(start, self.starts_at - _INSTANT)
        end = self.ends_at or zones.LATEST
        until_the_end = takewhile(lambda each: each.at < end, self._walk(start))
        return (each for each in until_the_end if skipped or each.dst is not Dst.SKIPPED)

    def since(self, instant: datetime) -> Iterator[Instant]:
        """The instants at or after one, as `after`."""
        return self.after(max(instant, zones.EARLIEST) - _INSTANT)

    def _walk(self, start: datetime) -> Iterator[Instant]:
        if self.cron is None:
            return walks.interval(*self._interval, self.zone, start)
        cron = crontab.parse(self.cron)
        walk = walks.real_intervals if cron.names_intervals else walks.fixed_times
        return walk(cron, self.zone, start)

    def first(self, after: datetime = zones.EARLIEST) -> Instant | None:
        """The next instant strictly after one, or the very first; None when the rule is over."""
        return next(self.after(after), None)

    def in_words(self) -> str:
        """The rule as a sentence, without its zone: "At 02:30, Monday through Friday"."""
        if self.cron is not None:
            return words.of_cron(self.cron)
        return words.of_interval(*self._interval)

    @property
    def _interval(self) -> tuple[timedelta, datetime]:
        assert self.every is not None  # nosec B101  # for the type checker
        assert self.anchor is not None  # nosec B101  # for the type checker
        return self.every, self.anchor


def _in_utc(instant: object, field: str) -> datetime | None:
    if instant is None:
        return None
    if not isinstance(instant, datetime) or instant.tzinfo is None:
        raise InvalidRecurrence(field, "must be a date and time with a zone")
    if not zones.EARLIEST < instant < zones.LATEST:
        raise InvalidRecurrence(field, "lies at the very edge of the calendar")
    return instant.astimezone(UTC)


def _checked_interval(every: timedelta | None) -> timedelta:
    if every is None or every % _SECOND or not _SECOND <= every <= LONGEST_INTERVAL:
        most = f"{LONGEST_INTERVAL.total_seconds():.0f}"
        raise InvalidRecurrence(
            "every_seconds", f"must be a whole number of seconds from 1 to {most}"
        )
    return every
