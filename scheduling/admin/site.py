"""Owns the console as a whole: its dashboard, its navigation, and the kill switch on every page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial, wraps
from typing import Any, TypeAlias, TypeVar, cast

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from scheduling import clock
from scheduling.admin import charts, dashboard, sign_in
from scheduling.admin.notices import notices
from scheduling.admin.rendering import of_the_console
from scheduling.admin.series import Period
from scheduling.admin.words import NOTHING
from scheduling.models import (
    DeadLetter,
    Lane,
    OperatorAction,
    Pause,
    RecurringTask,
    Task,
    WorkerProcess,
)
from tenants.models import ApiToken, Tenant

PAGES: Sequence[tuple[type[Model], str]] = (
    (Task, "Tasks"),
    (DeadLetter, "Dead letters"),
    (RecurringTask, "Recurring"),
    (Pause, "Kill switch"),
    (Tenant, "Tenants"),
    (ApiToken, "Tokens"),
    (Lane, "Lanes"),
    (WorkerProcess, "Workers"),
    (OperatorAction, "Audit"),
)
RECENT_ACTIONS = 8
REPLACED = "%EF%BF%BD"
"""U+FFFD, as addresses have it."""
PAUSES_READ = 4
"""One more than are shown on every page: the others have their list."""
WORKERS_SHOWN = 50


def whole_page() -> HttpResponse:
    """What a part answers when the page around it is to be loaded again."""
    return HttpResponse(status=204, headers={"HX-Refresh": "true"})


Part: TypeAlias = Callable[..., HttpResponse]
View = TypeVar("View", bound=Callable[..., HttpResponseBase])


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    url: str
    is_current: bool


class Console(admin.AdminSite):
    """Django's admin with a dashboard for an index. Its pages ask no other host for anything."""

    site_title = "Rentroll"
    site_header = "Rentroll"
    index_title = "Dashboard"
    index_template = "admin/dashboard.html"
    site_url = None
    empty_value_display = NOTHING
    enable_nav_sidebar = False

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.navigation = list(PAGES)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """What every page needs. Who is not signed in learns nothing from it."""
        context = super().each_context(request) | {"now": clock.now()}
        if not context["has_permission"]:
            return context
        return context | {
            "pages": self._pages(request),
            "pauses": self._pauses(request),
            "may_see_tenants": self.get_model_admin(Tenant).has_view_or_change_permission(request),
            "may_add_tenants": self.get_model_admin(Tenant).has_add_permission(request),
            "may_control": request.user.has_perm("scheduling.change_pause"),
        }

    @method_decorator(never_cache)
    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The form; posted, only so often."""
        login = partial(of_the_console(self.name, super().login), request, extra_context)
        return sign_in.attempt(request, login) if request.method == "POST" else login()

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """The dashboard, for who may see tasks; for others a page that only welcomes."""
        context = {"title": self.index_title, "subtitle": None} | self._dashboard_context(request)
        return TemplateResponse(request, self.index_template, context | (extra_context or {}))

    def admin_view(self, view: View, cacheable: bool = False) -> View:  # noqa: FBT001, FBT002  # Django's
        """NUL in an address is replaced: no text of the ledger has it, and PostgreSQL refuses to be asked for it."""
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if "%00" in request.META["QUERY_STRING"]:
                request.GET = QueryDict(request.META["QUERY_STRING"].replace("%00", REPLACED))
            return inner(request, *args, **kwargs)

        return cast("View", of_the_console(self.name, asked))

    def get_urls(self) -> list[URLPattern | URLResolver]:
        parts = {"kill-switch": self._kill_switch, "dashboard": self._dashboard}
        live = [
            path(f"live/{name}/", self.part(view), name=f"live_{name.replace('-', '_')}")
            for name, view in parts.items()
        ]
        return [*live, *super().get_urls()]

    def part(self, view: Part) -> Part:
        """What a page keeps fresh. Who was signed out meanwhile is sent to the door, by a whole page."""

        @never_cache
        def fresh(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not self.has_permission(request):
                return whole_page()
            return view(request, *args, **kwargs)

        return of_the_console(self.name, fresh)

    def _kill_switch(self, request: HttpRequest) -> HttpResponse:
        return TemplateResponse(request, "admin/kill_switch.html", self.each_context(request))

    def _dashboard(self, request: HttpRequest) -> HttpResponse:
        context = self._dashboard_context(request)
        if "dashboard" not in context:
            raise PermissionDenied
        return TemplateResponse(request, "admin/dashboard_figures.html", context)

    def _dashboard_context(self, request: HttpRequest) -> dict[str, Any]:
        """The figures, for who may see tasks; what operators did, for who may see that."""
        context = self.each_context(request)
        if self.get_model_admin(Task).has_view_or_change_permission(request):
            period = Period.asked(request.GET.get("period", ""))
            context |= _figures(context["now"], period)
            if self.get_model_admin(Pause).has_view_or_change_permission(request):
                context["pauses"] = context["dashboard"].pauses[
                    :PAUSES_READ
                ]  # no need to ask twice
        if self.get_model_admin(OperatorAction).has_view_permission(request):
            context["actions"] = OperatorAction.objects.order_by("-pk")[:RECENT_ACTIONS]
        return context

    def _pauses(self, request: HttpRequest) -> Sequence[Pause] | QuerySet[Pause]:
        """Tenants who paused themselves must not crowd out what operators did."""
        if not self.get_model_admin(Pause).has_view_or_change_permission(request):
            return ()
        return Pause.objects.standing(clock.now())[:PAUSES_READ]

    def _pages(self, request: HttpRequest) -> list[Link]:
        """The navigation: what this user may see."""
        home = reverse("console:index")
        links = [Link("Dashboard", home, request.path == home)]
        for model, label in self.navigation:
            if self.get_model_admin(model).has_view_or_change_permission(request):
                options = model._meta
                url = reverse(f"console:{options.app_label}_{options.model_name}_changelist")
                links.append(Link(label, url, request.path.startswith(url)))
        return links


def _figures(now: datetime, period: Period) -> dict[str, Any]:
    shown = dashboard.read(now, period)
    return {
        "dashboard": shown,
        "notices": notices(shown),
        "charts": charts.of(shown.slots, period),
        "period": period,
        "periods": list(Period),
        "workers": shown.workers[:WORKERS_SHOWN],
        "workers_left": len(shown.workers[WORKERS_SHOWN:]),
    }


console = Console(name="console")
console.disable_action("delete_selected")
