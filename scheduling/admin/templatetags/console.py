"""The console's words as template filters."""

import re
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from scheduling.admin import figures, words
from scheduling.counts import counted
from tenants.models import Tenant

register = template.Library()

WORDS = re.compile(r"(?<=\.)(?=.)|(?<=[a-z])(?=[A-Z])")
"""As in `invoices.send` and in `ConnectTimeout`."""

register.filter(counted)
register.filter(words.clock)
register.filter(words.exact)
register.filter(words.number)
register.filter(words.progress)


@register.filter
def stamp(instant: datetime | None, now: datetime) -> SafeString | str:
    return words.stamp(instant, now)


@register.filter
def since(instant: datetime | None, now: datetime) -> str:
    """How long it has lasted since."""
    return words.NOTHING if instant is None else words.lasting(max(now - instant, timedelta()))


@register.filter
def lateness(oldest_ready: datetime | None, now: datetime) -> str:
    """The class of what waits since then."""
    return figures.lateness(oldest_ready, now).css


@register.filter
def lasting(length: timedelta | None) -> str:
    return words.NOTHING if length is None else words.lasting(length)


@register.filter
def breakable(name: str) -> SafeString:
    """Between the words of a name, which it does not set apart by spaces, a new line may begin."""
    return format_html_join(SafeString("<wbr>"), "{}", ((part,) for part in WORDS.split(name)))


@register.simple_tag(takes_context=True)
def tenant_link(context: Context, tenant: Tenant) -> SafeString:
    """To its page, for who may see it; for others to its tasks."""
    if context.get("may_see_tenants"):
        address = reverse("console:tenants_tenant_change", args=[tenant.pk])
    else:
        tasks = reverse("console:scheduling_task_changelist")
        address = f"{tasks}?{urlencode({'tenant': tenant.slug})}"
    return format_html('<a href="{}">{}</a>', address, tenant.slug)
