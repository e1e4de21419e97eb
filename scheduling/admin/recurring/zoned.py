"""How the console says instants in the zone of a rule. Pure: `now` is an argument."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling.admin import words


def zone_called(name: str) -> tzinfo:
    """UTC for a name that no zone has, or has any more: what is disabled for that is shown all the same."""
    try:
        return ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        return UTC


def wall(instant: datetime, zone: tzinfo) -> str:
    """What the clocks show there, to the minute if that says it all: `Sun 2027-03-28 03:00 CEST`."""
    return f"{instant.astimezone(zone):%a} {short(instant, zone)}"


def short(instant: datetime, zone: tzinfo) -> str:
    """The same without the day of the week."""
    local = instant.astimezone(zone)
    to_the_minute = not (local.second or local.microsecond)
    return f"{local:%Y-%m-%d %H:%M %Z}" if to_the_minute else f"{local:%Y-%m-%d %H:%M:%S %Z}"


def stamp(instant: datetime | None, zone: tzinfo, now: datetime) -> SafeString | str:
    """In the zone, with the age, and UTC at hand; a dash for what there is not."""
    if instant is None:
        return words.NOTHING
    return format_html(
        '<time datetime="{}" title="{}">{}</time> <span class="away">{}</span>',
        instant.astimezone(UTC).isoformat(),
        words.exact(instant),
        short(instant, zone),
        words.age(instant, now),
    )
