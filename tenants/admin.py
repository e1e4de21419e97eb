"""Tenants and their tokens in the console, which registers them (`scheduling.admin`)."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from scheduling import clock
from tenants.forms import DurationField, TenantField, known_tenants
from tenants.models import ApiToken, Scope, Tenant

if TYPE_CHECKING:  # generic in the stubs only
    _TenantAdmin = admin.ModelAdmin[Tenant]
    _TokenAdmin = admin.ModelAdmin[ApiToken]
else:
    _TenantAdmin = _TokenAdmin = admin.ModelAdmin


class TenantAdmin(_TenantAdmin):
    """Limits take effect with the next enqueue and the next claim: both read the row."""

    list_display = ("slug", "name", "weight", "in_flight", "queued", "rate", "retention")
    search_fields = ("slug", "name")
    search_help_text = "A part of the slug or of the name."
    list_per_page = 50
    formfield_overrides: ClassVar = {models.DurationField: {"form_class": DurationField}}
    fieldsets: ClassVar = [
        ("Tenant", {"fields": ["slug", "name"]}),
        ("Dispatch", {"fields": ["weight", "max_in_flight"]}),
        ("Intake", {"fields": ["max_queued", "rate_per_second", "rate_burst"]}),
        ("History", {"fields": ["retention"]}),
    ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"title": "Tenants"} | (extra_context or {}))

    def get_readonly_fields(self, request: HttpRequest, obj: Tenant | None = None) -> list[str]:
        """The slug is what pauses, logs and callers know a tenant by."""
        return ["slug"] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        """Not while it has tasks, finished ones included."""
        if obj is not None and obj.tasks.exists():
            return False
        return super().has_delete_permission(request, obj)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Without tasks only figures, lanes, tokens and pauses go along: not worth listing row by row."""
        return [f"{tenant}, with its tokens, pauses and figures" for tenant in objs], {}, set(), []

    @admin.display(description="max in flight", ordering="max_in_flight", empty_value="no limit")
    def in_flight(self, tenant: Tenant) -> int | None:
        return tenant.max_in_flight

    @admin.display(description="max queued", ordering="max_queued", empty_value="no limit")
    def queued(self, tenant: Tenant) -> str | None:
        return f"{tenant.max_queued:,}" if tenant.max_queued else None

    @admin.display(description="rate", ordering="rate_per_second", empty_value="no limit")
    def rate(self, tenant: Tenant) -> str | None:
        if tenant.rate_per_second is None:
            return None
        return f"{tenant.rate_per_second:,g}/s, burst {tenant.rate_burst:,}"


class IssueForm(forms.Form):
    """What a new token is for."""

    LIFETIMES: ClassVar = [("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("", "no end")]

    tenant = TenantField(required=False, help_text="Empty: an operator's token, for all tenants.")
    name = forms.CharField(
        required=False, max_length=100, help_text="Who or what will use it, to know it by later."
    )
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices,
        initial=[Scope.ENQUEUE, Scope.READ],
        widget=forms.CheckboxSelectMultiple,
    )
    lifetime = forms.ChoiceField(choices=LIFETIMES, required=False, initial="90", label="Valid for")

    def issue(self) -> tuple[ApiToken, str]:
        """The stored token, and its secret, which nothing else will ever tell."""
        asked = self.cleaned_data
        days = asked["lifetime"]
        return ApiToken.objects.issue(
            tenant=asked["tenant"],
            name=asked["name"],
            scopes=asked["scopes"],
            expires_at=clock.now() + timedelta(days=int(days)) if days else None,
        )


class TokenAdmin(_TokenAdmin):
    """Tokens are issued and revoked, never edited; a revoked one stays, to tell whose it was."""

    list_display = ("prefix", "owner", "name", "scope", "status", "expires", "used")
    list_select_related = ("tenant",)
    search_fields = ("prefix", "name", "tenant__slug")
    search_help_text = "A prefix, a name, or a tenant."
    list_per_page = 50
    actions = ("revoke",)
    fields = (
        "prefix",
        "owner",
        "name",
        "scope",
        "status",
        "created_at",
        "expires",
        "used",
        "revoked_at",
    )
    readonly_fields = fields

    def has_delete_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"title": "Tokens"} | (extra_context or {}))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Nothing to save: what can be done to a token is revoking it."""
        nothing = {"show_save": False, "show_save_and_continue": False}
        return super().change_view(request, object_id, form_url, nothing | (extra_context or {}))

    @method_decorator(never_cache)
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The form; posted, the page that shows the secret.

        The secret goes into that one answer and nowhere else: a redirect would have to keep it in the
        session, which is a row of the database, or in a cookie.
        """
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = IssueForm(request.POST or None, initial=request.GET.dict())
        context = self.admin_site.each_context(request) | (extra_context or {})
        if request.method == "POST" and form.is_valid():
            token, secret = form.issue()
            self.log_addition(request, token, "Issued")
            context |= {"title": "Token issued", "token": token, "secret": secret}
            return TemplateResponse(request, "admin/token_issued.html", context)
        context |= {"title": "Issue a token", "form": form, "known_tenants": known_tenants()}
        return TemplateResponse(request, "admin/token_issue.html", context)

    @admin.action(description="Revoke tokens", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: models.QuerySet[ApiToken]) -> None:
        open_tokens = list(queryset.filter(revoked_at__isnull=True))
        ApiToken.objects.filter(pk__in=[token.pk for token in open_tokens]).revoke(clock.now())
        for token in open_tokens:
            self.log_change(request, token, "Revoked")
        said = f"{len(open_tokens)} revoked: refused from the next request on."
        self.message_user(request, said, messages.SUCCESS)

    @admin.display(description="scopes")
    def scope(self, token: ApiToken) -> str:
        return ", ".join(token.scopes)

    @admin.display(description="expires", empty_value="never")
    def expires(self, token: ApiToken) -> datetime | None:
        return token.expires_at

    @admin.display(description="last used", empty_value="never")
    def used(self, token: ApiToken) -> datetime | None:
        return token.last_used_at

    @admin.display(description="status")
    def status(self, token: ApiToken) -> str:
        if token.revoked_at:
            return "revoked"
        if token.expires_at and token.expires_at <= clock.now():
            return "expired"
        return "usable"
