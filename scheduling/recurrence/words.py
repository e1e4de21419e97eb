"""Rules as sentences, for people who do not read cron."""

from datetime import datetime, timedelta
from functools import lru_cache

from cron_descriptor import ExpressionDescriptor, Options

from scheduling import durations

_OPTIONS = Options(use_24hour_time_format=True, locale_code="en_GB")


@lru_cache(maxsize=1024)
def of_cron(expression: str) -> str:
    """What an expression of our grammar says, such as "At 02:30, Monday through Friday"."""
    sentence: str = ExpressionDescriptor(expression, _OPTIONS).get_full_description()
    return sentence


def of_interval(every: timedelta, anchor: datetime) -> str:
    """What an interval says, such as "Every 1h30m, counted from 1970-01-01 00:00:00 UTC"."""
    since = anchor.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")
    return f"Every {durations.spelled(every)}, counted from {since} UTC"
