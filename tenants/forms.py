"""Form fields for tenants and for durations, as people type them."""

from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from scheduling import durations
from tenants.models import Tenant

MOST_OFFERED = 200
"""A browser suggests these; the slug of any other tenant can be typed."""


class TenantField(forms.CharField):
    """A tenant, by its slug; empty: None. Says so when there is none of that name."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=64, **kwargs)
        self.widget.attrs |= {"list": "known-tenants", "autocomplete": "off"}

    def clean(self, value: Any) -> Tenant | None:
        slug = super().clean(value)
        if not slug:
            return None
        tenant = Tenant.objects.filter(slug=slug).first()
        if tenant is None:
            raise ValidationError(f"No tenant is called “{slug}”.")
        return tenant


class DurationField(forms.CharField):
    """A duration such as `10m`, `2h` or `30d`; empty: None."""

    def clean(self, value: Any) -> timedelta | None:
        text = super().clean(value)
        try:
            return durations.parse(text) if text else None
        except ValueError as error:
            raise ValidationError(str(error)) from error

    def prepare_value(self, value: Any) -> Any:
        return durations.spelled(value) if isinstance(value, timedelta) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


def known_tenants() -> list[str]:
    """What to suggest: for the `<datalist id="known-tenants">` beside the field."""
    return list(Tenant.objects.values_list("slug", flat=True)[:MOST_OFFERED])
