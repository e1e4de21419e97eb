"""Counting by the minute."""

from datetime import UTC, datetime


def minute_of(now: datetime) -> datetime:
    """The minute (UTC) that an instant lies in."""
    return now.astimezone(UTC).replace(second=0, microsecond=0)


def hour_of(minute: datetime) -> datetime:
    """The hour (UTC) that a minute lies in."""
    return minute.replace(minute=0)
