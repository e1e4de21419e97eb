"""The words of recurring tasks as template filters."""

from datetime import UTC, datetime, timedelta, tzinfo

from django import template
from django.utils.safestring import SafeString

from scheduling import clock, durations
from scheduling.admin import words
from scheduling.admin.recurring import zoned
from scheduling.admin.recurring.access import Act
from scheduling.admin.recurring.form import RecurringForm
from scheduling.recurrence import Instant

register = template.Library()

register.filter(words.age)
register.filter(zoned.wall)

_ADDRESSES = {Act.RUN_NOW: "run"}


@register.filter
def plain_utc(instant: datetime) -> str:
    """Beside a heading that says that it is UTC."""
    return zoned.short(instant, UTC).removesuffix(" UTC")


@register.filter
def wall_there(instant: Instant) -> str:
    zone = instant.local.tzinfo
    return zoned.wall(instant.local, zone or UTC)


@register.filter
def stamp_in(instant: datetime | None, zone: tzinfo) -> SafeString | str:
    return zoned.stamp(instant, zone, clock.now())


@register.filter
def seconds(count: float) -> str:
    """As one would type it."""
    if count <= 0 or count % 1:
        return f"{count:g} s"
    return durations.spelled(timedelta(seconds=count))


@register.filter
def called(field: str) -> str:
    """What the form calls a field."""
    label = RecurringForm.base_fields[field].label
    return f"“{label}”"


@register.filter
def address_of(act: Act) -> str:
    """The name of the address at which it is asked for."""
    return f"console:scheduling_recurringtask_{_ADDRESSES.get(act, act.value)}"
