"""Rules as sentences, for people who do not read cron.

cron-descriptor tells the time of day and the month. It knows neither which rules of two day fields mean both, nor
lists that mix kinds of days, so days have `days`; and of other lists that mix ranges and steps it is told each value.
"""

from datetime import datetime, timedelta
from functools import lru_cache

from cron_descriptor import ExpressionDescriptor, Options

from scheduling import durations
from scheduling.recurrence import days
from scheduling.recurrence.cron import HOUR, MINUTE, MONTH, Field

_OPTIONS = Options(use_24hour_time_format=True, locale_code="en_GB")


@lru_cache(maxsize=1024)
def of_cron(expression: str) -> str:
    """What an expression of our grammar says, such as "At 02:30, Monday through Friday"."""
    minute, hour, day, month, weekday = expression.split(" ")
    time = f"{_plain(MINUTE, minute)} {_plain(HOUR, hour)} * * *"
    when: str = ExpressionDescriptor(time, _OPTIONS).get_full_description()
    months = _each(MONTH, month) if "/" in month else _plain(MONTH, month)
    in_which: str = ExpressionDescriptor(f"* * * {months} *", _OPTIONS).get_month_description()
    return f"{when}{days.in_words(day, weekday)}{in_which}"


def _plain(field: Field, text: str) -> str:
    """A list that is not one of values alone as one."""
    is_mixed = "," in text and ("-" in text or "/" in text)
    return _each(field, text) if is_mixed else text


def _each(field: Field, text: str) -> str:
    values = {value for item in text.split(",") for value in field.values(item)}
    every_one = len(values) == field.high - field.low + 1
    return "*" if every_one else ",".join(map(str, sorted(values)))


def of_interval(every: timedelta, anchor: datetime) -> str:
    """What an interval says, such as "Every 1h30m, counted from 1970-01-01 00:00:00 UTC"."""
    since = anchor.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")
    return f"Every {durations.spelled(every)}, counted from {since} UTC"
