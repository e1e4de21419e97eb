"""How the console says instants, durations and counts. Pure: `now` is an argument."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

NOTHING = "—"
"""In place of what there is not."""
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def exact(instant: datetime) -> str:
    """To the second, in UTC, with the zone said. Any year a database can hold, in any server's zone."""
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def clock(instant: datetime) -> str:
    """The time of a day that need not be said, in UTC."""
    return f"{instant.astimezone(UTC):%H:%M}"


def lasting(length: timedelta) -> str:
    """A duration in its two largest units; below ten seconds as exactly as it deserves."""
    seconds = abs(length.total_seconds())
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    return " ".join(f"{count} {unit}" for count, unit in _split(seconds)[:2] if count)


def progress(said: Any) -> str:
    """How far a handler says it has come. Whatever somebody wrote there by hand is told as it stands."""
    try:
        percent = f"{said['fraction']:.0%}"
        return f"{said['done']} of {said['total']} ({percent})" if said["total"] else percent
    except (LookupError, TypeError, ValueError):
        return str(said)


def age(instant: datetime, now: datetime) -> str:
    """How long ago, or how far ahead: in one unit where a second one would not matter."""
    seconds = abs(instant - now).total_seconds()
    if seconds < 1:
        return "now"
    parts = _split(seconds)
    shown = parts[:1] if parts[0][0] >= 10 else parts[:2]
    length = " ".join(f"{count} {unit}" for count, unit in shown if count)
    return f"in {length}" if instant > now else f"{length} ago"


def _split(seconds: float) -> list[tuple[int, str]]:
    """Counts and units, from the largest that is not zero."""
    parts: list[tuple[int, str]] = []
    rest = round(seconds)
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append((count, unit))
    return parts


def stamp(instant: datetime | None, now: datetime) -> SafeString | str:
    """The age, with the exact instant at hand; a dash for what has not happened."""
    if instant is None:
        return NOTHING
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        instant.astimezone(UTC).isoformat(),
        exact(instant),
        age(instant, now),
    )


def number(count: float) -> str:
    """With thousands set apart."""
    return f"{count:,}"
