"""The kill switch in the console: what is paused, pausing, and resuming in one click."""

from typing import Any, ClassVar, TypedDict

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import audit, clock, ledger
from scheduling.admin import words
from scheduling.admin.audit import operator
from scheduling.admin.lists import ReadOnlyAdmin
from scheduling.admin.site import console
from scheduling.audit import Actor
from scheduling.counts import counted
from scheduling.ledger.values import Receipt
from scheduling.models import Lane, OperatorAction, Pause
from scheduling.options import REASON_LENGTH_MAX
from tenants.forms import DurationField, TenantField, known_tenants
from tenants.models import Tenant

PERMISSION = "scheduling.change_pause"
MOST_OFFERED = 200
HISTORY_SHOWN = 25


class Scope(TypedDict):
    """What a pause covers; each part empty for all."""

    tenant: Tenant | None
    queue: str
    name: str


class PauseForm(forms.Form):
    tenant = TenantField(required=False, help_text="Empty: all tenants.")
    queue = forms.CharField(required=False, max_length=100, help_text="Empty: all queues.")
    name = forms.CharField(
        required=False, max_length=200, label="Task name", help_text="Empty: all tasks."
    )
    reason = forms.CharField(
        max_length=REASON_LENGTH_MAX, help_text="Whoever is on call next will read it."
    )
    duration = DurationField(
        required=False, label="For", help_text="Such as 10m or 2h. Empty: until it is resumed."
    )


def pause_view(request: HttpRequest) -> HttpResponse:
    """The form, then the pause and its receipt. Who would pause everything is asked first."""
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    if request.method != "POST":
        return _form_page(request, PauseForm(initial=request.GET.dict()))
    form = PauseForm(request.POST)
    if not form.is_valid() or "change" in request.POST:
        return _form_page(request, form)
    if "confirmed" not in request.POST and not any(_scope(form.cleaned_data).values()):
        return _question(request, form)
    messages.success(request, said(_pause(form, operator(request))))
    return HttpResponseRedirect(reverse("console:index"))


def resume_view(request: HttpRequest, pause_id: int) -> HttpResponse:
    """One click: lift that pause. Who comes second is told that it is lifted already."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    standing = Pause.objects.in_force(clock.now()).filter(pk=pause_id).first()
    receipt = _resume(standing, operator(request)) if standing else None
    if receipt and receipt.changed:
        messages.success(request, said(receipt))
    else:
        messages.info(request, "That pause was over already.")
    return HttpResponseRedirect(reverse("console:index"))


def _form_page(request: HttpRequest, form: PauseForm) -> TemplateResponse:
    queues = Lane.objects.order_by("queue").values_list("queue", flat=True).distinct()
    context = console.each_context(request) | {
        "title": "Pause",
        "form": form,
        "known_tenants": known_tenants(),
        "known_queues": queues[:MOST_OFFERED],
    }
    return TemplateResponse(request, "admin/pause.html", context)


def _question(request: HttpRequest, form: PauseForm) -> TemplateResponse:
    scope = _scope(form.cleaned_data)
    context = console.each_context(request) | {
        "title": f"Pause {Pause(**scope).covers}?",
        "form": form,
        "standing": ledger.control(**scope),
    }
    return TemplateResponse(request, "admin/confirm_pause.html", context)


def _pause(form: PauseForm, by: Actor) -> Receipt:
    asked, scope = form.cleaned_data, _scope(form.cleaned_data)
    with transaction.atomic():
        receipt = ledger.pause(
            **scope, reason=asked["reason"], duration=asked["duration"], by=by.name
        )
        record(by, "pause", scope, receipt, asked["reason"])
    return receipt


def _resume(pause: Pause, by: Actor) -> Receipt:
    scope = Scope(tenant=pause.tenant, queue=pause.queue, name=pause.name)
    with transaction.atomic():
        receipt = ledger.resume(**scope, by=by.name)
        if receipt.changed:
            record(by, "resume", scope, receipt)
    return receipt


def record(by: Actor, verb: str, scope: Scope, receipt: Receipt, reason: str = "") -> None:
    audit.record(
        by,
        verb,
        Pause(**scope).covers,
        tenant=scope["tenant"],
        reason=reason,
        done=1,
        note=f"{lasts(receipt)}; {running(receipt)}",
    )


def _scope(asked: dict[str, Any]) -> Scope:
    return Scope(tenant=asked["tenant"], queue=asked["queue"], name=asked["name"])


def said(receipt: Receipt) -> str:
    """The receipt in a sentence or two."""
    if not receipt.paused:
        return f"Resumed: {receipt.covers}; {running(receipt)}"
    since = f"since {words.exact(receipt.since)}, {lasts(receipt)}"
    return f"Paused: {receipt.covers}, {since}. Nothing new starts; {running(receipt)}"


def lasts(receipt: Receipt) -> str:
    if not receipt.paused:
        return "resumed"
    return f"until {words.exact(receipt.expires_at)}" if receipt.expires_at else "until resumed"


def running(receipt: Receipt) -> str:
    return f"{counted(receipt.in_flight, 'task')} in flight."


@admin.register(Pause, site=console)
class PauseAdmin(ReadOnlyAdmin[Pause]):
    title = "Kill switch"
    list_display = ("covers", "reason", "author", "paused_since", "expires", "resume")
    list_display_links = None
    list_select_related: ClassVar = ("tenant",)
    ordering: ClassVar = ["by_tenant", "-since", "pk"]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """What stands, and below it who paused and resumed what before."""
        switched = OperatorAction.objects.filter(verb__in=("pause", "resume")).order_by("-pk")
        context = {"history": switched[:HISTORY_SHOWN], "now": clock.now()}
        return super().changelist_view(request, context | (extra_context or {}))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Pause]:
        return Pause.objects.in_force(clock.now())

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("add/", wrap(pause_view), name="scheduling_pause_add"),
            path("<int:pause_id>/resume/", wrap(resume_view), name="scheduling_pause_resume"),
            *super().get_urls(),
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(PERMISSION))

    def has_view_permission(self, request: HttpRequest, obj: Pause | None = None) -> bool:
        return self.has_add_permission(request) or super().has_view_permission(request, obj)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return self.list_display if self.has_add_permission(request) else self.list_display[:-1]

    @admin.display(description="covers")
    def covers(self, pause: Pause) -> str:
        return pause.covers

    @admin.display(description="paused by")
    def author(self, pause: Pause) -> str:
        return f"{pause.paused_by} (the tenant itself)" if pause.by_tenant else pause.paused_by

    @admin.display(description="since")
    def paused_since(self, pause: Pause) -> SafeString | str:
        return words.stamp(pause.since, clock.now())

    @admin.display(description="expires")
    def expires(self, pause: Pause) -> SafeString | str:
        return words.stamp(pause.expires_at, clock.now())

    @admin.display(description="")
    def resume(self, pause: Pause) -> SafeString:
        """A button of the list's own form: a form inside it would not be HTML."""
        address = reverse("console:scheduling_pause_resume", args=[pause.pk])
        return format_html('<button class="small" formaction="{}">Resume</button>', address)
