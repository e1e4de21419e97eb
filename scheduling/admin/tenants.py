"""Tenants in the console: the page of one shows how it stands, and changes its limits."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from scheduling import clock
from scheduling.admin import charts, standing
from scheduling.admin.audit import Audited
from scheduling.admin.series import Period
from scheduling.admin.site import PAUSES_READ
from scheduling.ledger import wake
from scheduling.models import Pause, Task
from tenants.admin import TenantAdmin
from tenants.models import Tenant

FOUND = "tenant_of_page"
"""Of the request."""
DIGITS = 19
"""More than a database has for an id."""


class AuditedTenants(Audited, TenantAdmin):
    """What is changed about tenants is on record, with what it was before, and workers hear of it at once."""

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        context = self._standing(request, object_id) | (extra_context or {})
        return super().change_view(request, object_id, form_url, context)

    def _standing(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        """For who may see tasks."""
        tasks = self.admin_site.get_model_admin(Task)
        is_id = object_id.isdecimal() and len(object_id) < DIGITS
        if not (is_id and tasks.has_view_or_change_permission(request)):
            return {}
        now, period = clock.now(), Period.asked(request.GET.get("period", ""))
        pauses = list(Pause.objects.standing(now))
        found = standing.read(int(object_id), pauses, now, period)
        if found is None:
            return {}
        setattr(request, FOUND, found.tenant)
        context: dict[str, Any] = {
            "standing": found,
            "charts": charts.of(found.slots, period),
            "period": period,
            "periods": list(Period),
            "show_save_and_add_another": False,
            "show_save_and_continue": False,
        }
        if self.admin_site.get_model_admin(Pause).has_view_or_change_permission(request):
            context["pauses"] = pauses[:PAUSES_READ]
        return context

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Tenant | None:
        """Whom the page is about was read already."""
        known: Tenant | None = getattr(request, FOUND, None)
        return known or super().get_object(request, object_id, from_field)

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:  # noqa: FBT001  # Django's
        """Enqueueing and claiming read the row; workers that wait because of an old limit look again."""
        super().save_model(request, obj, form, change)
        wake.after_commit(wake.WORK)

    def construct_change_message(
        self,
        request: HttpRequest,
        form: Any,
        formsets: Any,
        add: bool = False,  # noqa: FBT001, FBT002  # Django's
    ) -> Any:
        if add:
            return super().construct_change_message(request, form, formsets, add)
        changes = (
            f"{field.label}: {_said(form.initial[name])} → {_said(form.cleaned_data[name])}"
            for name, field in form.fields.items()
            if form.initial[name] != form.cleaned_data[name]
        )
        return "; ".join(changes)

    def response_change(self, request: HttpRequest, obj: Tenant) -> HttpResponse:
        """Back to the page of the tenant, where the effect can be seen."""
        messages.success(request, f"The limits of {obj} are as they stand here from now on.")
        return HttpResponseRedirect(reverse("console:tenants_tenant_change", args=[obj.pk]))


def _said(value: object) -> str:
    return "none" if value in (None, "") else str(value)
