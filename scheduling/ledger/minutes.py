"""Counting by the minute."""

from datetime import UTC, datetime


def minute_of(now: datetime) -> datetime:
    """The minute (UTC) that an instant lies in."""
    return now.astimezone(UTC).replace(second=0, microsecond=0)
