"""Tenants in the console: how they stand beside their limits, in a list; and the page of one, which changes these."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import clock
from scheduling.admin import charts, standing
from scheduling.admin.audit import Audited
from scheduling.admin.dashboard import UNFINISHED
from scheduling.admin.series import Period
from scheduling.admin.site import PAUSES_READ
from scheduling.admin.words import number
from scheduling.ledger import wake
from scheduling.models import Lease, Pause, Task
from tenants.admin import TenantAdmin
from tenants.models import Tenant

FOUND = "standing_of_page"
"""Of the request."""
DIGITS = 19
"""More than a database has for an id."""


LEASES = (
    Lease.objects.filter(tenant=OuterRef("pk"))
    .order_by()
    .values("tenant")
    .annotate(count=Count("task"))
    .values("count")
)
BESIDE_THEIR_USE = {"in_flight": "used_in_flight", "queued": "used_queued"}
"""Columns with a limit alone, and those with what is used of it."""


class AuditedTenants(Audited, TenantAdmin):
    """What is changed about tenants is on record, with what it was before, and workers hear of it at once."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tenant]:
        tenants: QuerySet[Tenant] = super().get_queryset(request)
        if self._may_see_tasks(request):
            tenants = tenants.annotate(running=Coalesce(Subquery(LEASES), 0), unfinished=UNFINISHED)
        return tenants

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """What is used of the limits, for who may see tasks."""
        beside = BESIDE_THEIR_USE if self._may_see_tasks(request) else {}
        return tuple(beside.get(column, column) for column in self.list_display)

    def _may_see_tasks(self, request: HttpRequest) -> bool:
        tasks = self.admin_site.get_model_admin(Task)
        return bool(tasks.has_view_or_change_permission(request))

    @admin.display(description="in flight", ordering="running")
    def used_in_flight(self, tenant: Any) -> SafeString:
        return _used(tenant.running, tenant.max_in_flight)

    @admin.display(description="unfinished", ordering="unfinished")
    def used_queued(self, tenant: Any) -> SafeString:
        """As `max_queued` counts: what runs is among it."""
        return _used(tenant.unfinished, tenant.max_queued)

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
        is_id = object_id.isdecimal() and len(object_id) < DIGITS
        if not (is_id and self._may_see_tasks(request)):
            return {}
        now, period = clock.now(), Period.asked(request.GET.get("period", ""))
        pauses = list(Pause.objects.standing(now))
        found = standing.read(int(object_id), pauses, now, period)
        if found is None:
            return {}
        setattr(request, FOUND, found)
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
        known: standing.Standing | None = getattr(request, FOUND, None)
        return known.tenant if known else super().get_object(request, object_id, from_field)

    def has_delete_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        """Its page has found out already whether it has tasks."""
        known: standing.Standing | None = getattr(request, FOUND, None)
        is_held = known is not None and known.tenant == obj and known.has_tasks
        return not is_held and super().has_delete_permission(request, obj)

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


def _used(count: int, limit: int | None) -> SafeString:
    most = "any number" if limit is None else number(limit)
    return format_html("{} <small>of {}</small>", number(count), most)


def _said(value: object) -> str:
    return "none" if value in (None, "") else str(value)
