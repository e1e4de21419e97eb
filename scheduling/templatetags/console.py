"""The console's words as template filters."""

from datetime import datetime, timedelta

from django import template
from django.utils.safestring import SafeString

from scheduling.admin import words

register = template.Library()

register.filter(words.exact)
register.filter(words.number)
register.filter(words.progress)


@register.filter
def stamp(instant: datetime | None, now: datetime) -> SafeString | str:
    return words.stamp(instant, now)


@register.filter
def lasting(length: timedelta | None) -> str:
    return words.NOTHING if length is None else words.lasting(length)
