"""Cron expressions: the five-field grammar, and the wall-clock times that one names. Knows no time zones.

    expression    minute hour day-of-month month day-of-week, separated by blanks; case does not matter
    field         * | */step | item,item,…
    item          value | value-value | value-value/step
    value         a number of one or two digits, or a name: JAN-DEC in month, SUN-SAT in day-of-week
    day-of-month  as well L, the last day of the month
    day-of-week   0 and 7 are Sunday; as well 5L or FRIL, the last Friday, and 5#2 or FRI#2, the second Friday

Nothing else: no seconds, no years, no `@daily`, no `?`, `W`, `H` or `R`, no step without a range. A step that
would reach no second value is refused, because `*/90` does not mean what it seems to say.

When both day fields are restricted, a day matches if either does; when one of them begins with `*`, both must
(Debian's cron). The times come from cronsim, which follows the same rules but reads more than this grammar.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from cronsim import CronSim, CronSimError

from scheduling.recurrence.errors import InvalidRecurrence, shown

LONGEST = 255
"""In characters. Every value of every field, spelled out, is longer; nobody means that."""

_A_MONDAY_CENTURY = datetime(2000, 1, 1)  # noqa: DTZ001  # wall-clock time: of no zone
"""Any rule that names a day at all names one within cronsim's 50 years from here: weekdays repeat every 28."""


@dataclass(frozen=True, slots=True)
class Field:
    """One of the five: its name for people, its bounds, and what it takes beside numbers."""

    title: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    also: re.Pattern[str] | None = None
    value: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        value = "|".join([r"\d{1,2}", *self.names])
        object.__setattr__(self, "value", re.compile(f"(?:{value})"))

    def check(self, text: str) -> None:
        """Raises InvalidRecurrence unless the text is a field of this grammar. It is in upper case."""
        if text.startswith("*"):
            self._check_star(text)
            return
        for item in text.split(","):
            self._check_item(item)

    def values(self, item: str) -> list[int]:
        """What an item of this grammar stands for, ascending: a value, a range, or either it or `*` with a step."""
        span, _, step = item.partition("/")
        start, dash, end = (
            (str(self.low), "-", str(self.high)) if span == "*" else span.partition("-")
        )
        low = self._number(start, item)
        high = self._number(end, item) if dash else low
        return list(range(low, high + 1, int(step or 1)))

    def _check_star(self, text: str) -> None:
        if text == "*":
            return
        star, slash, step = text.partition("/")
        if star != "*" or not slash:
            raise self._refusal(text, "`*` stands alone or with a step, such as */5")
        self._check_step(step, self.low, self.high, text)

    def _check_item(self, item: str) -> None:
        if self.also and self.also.fullmatch(item):
            return
        span, slash, step = item.partition("/")
        start, dash, end = span.partition("-")
        low = self._number(start, item)
        high = self._number(end, item) if dash else low
        if high < low:
            raise self._refusal(item, f"the range runs backwards{self._sunday(end)}")
        if slash and not dash:
            raise self._refusal(item, f"a step needs a range, such as {low}-{self.high}/{step}")
        if slash:
            self._check_step(step, low, high, item)

    def _check_step(self, step: str, low: int, high: int, item: str) -> None:
        most = high - low
        if not re.fullmatch(r"\d{1,2}", step) or not 1 <= int(step) <= most:
            raise self._refusal(item, f"the step must be from 1 to {most}")

    def _number(self, value: str, item: str) -> int:
        if not self.value.fullmatch(value):
            raise self._refusal(item, f"expected {self._expected()}")
        number = int(value) if value.isdigit() else self.names.index(value) + self._first_name
        if not self.low <= number <= self.high:
            raise self._refusal(item, f"must be from {self.low} to {self.high}")
        return number

    @property
    def _first_name(self) -> int:
        return self.high - len(self.names) + 1 if self.low else 0

    def _expected(self) -> str:
        names = f" or a name from {self.names[0]} to {self.names[-1]}" if self.names else ""
        return f"a number from {self.low} to {self.high}{names}, a range, a list, `*` or a step"

    def _sunday(self, end: str) -> str:
        return "; Sunday at the end of a range is 7" if self.names and end in ("0", "SUN") else ""

    def _refusal(self, text: str, what: str) -> InvalidRecurrence:
        return InvalidRecurrence("cron", f"{self.title} {shown(text)}: {what}")


MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY_OF_MONTH = Field("day of month", 1, 31, also=re.compile("L"))
MONTH = Field("month", 1, 12, MONTHS)
DAY_OF_WEEK = Field(
    "day of week",
    0,
    7,
    DAYS,
    re.compile(f"[0-7]L|({'|'.join(DAYS)})L|([0-7]|{'|'.join(DAYS)})#[1-5]"),
)
FIELDS = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)


@dataclass(frozen=True, slots=True)
class Cron:
    """An expression that was checked, in the form it is stored in: upper case, single blanks."""

    text: str

    @property
    def names_intervals(self) -> bool:
        """Whether `*` begins the minute or the hour: then it means every real interval, else fixed times of day."""
        minute, hour, *_ = self.text.split(" ")
        return minute.startswith("*") or hour.startswith("*")

    def after(self, wall: datetime) -> Iterator[datetime]:
        """The wall-clock times strictly after one, ascending, until the calendar ends. All without a zone."""
        times = CronSim(self.text, wall)
        while True:
            try:
                yield next(times)
            except (StopIteration, OverflowError):  # the latter: year 10,000
                return


@lru_cache(maxsize=4096)
def parse(expression: str) -> Cron:
    """The expression, checked. Raises InvalidRecurrence for any other grammar, and for a rule that never fires."""
    if len(expression) > LONGEST:
        raise InvalidRecurrence("cron", f"is longer than {LONGEST} characters")
    if not re.fullmatch(r"[ \t!-~]*", expression):
        raise InvalidRecurrence(
            "cron", f"{shown(expression)} holds characters that no rule is made of"
        )
    fields = expression.upper().split()
    if len(fields) != len(FIELDS):
        titles = ", ".join(field.title for field in FIELDS)
        raise InvalidRecurrence(
            "cron", f"{shown(expression)} has {len(fields)} of the five fields: {titles}"
        )
    for each, text in zip(FIELDS, fields, strict=True):
        each.check(text)
    cron = Cron(" ".join(_readable(text) for text in fields))
    if not _fires(cron):
        raise InvalidRecurrence("cron", f"{shown(expression)} never fires: no month has such a day")
    return cron


def _readable(field: str) -> str:
    """The last or second Friday by its number: cronsim takes no name before an L, and cron-descriptor none before a #."""
    for number, name in enumerate(DAYS):
        field = re.sub(rf"\b{name}(?=L\b|#)", str(number), field)
    return field


def _fires(cron: Cron) -> bool:
    try:
        return next(cron.after(_A_MONDAY_CENTURY), None) is not None
    except CronSimError:  # its own early finding that no month has the day
        return False
