"""The list of recurring tasks: newest first, by cursor, each with the strip of its latest ticks."""

from typing import Any, ClassVar, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import clock
from scheduling.admin.filters import ChoiceFilter, TenantFilter
from scheduling.admin.lists import CursorChangeList, ReadOnlyAdmin
from scheduling.admin.recurring import acts, backfilling, editing, page, zoned
from scheduling.admin.recurring.access import Act, may, may_look
from scheduling.admin.recurring.standing import Standing, in_words, is_overdue, stand_of
from scheduling.admin.recurring.strip import strips
from scheduling.admin.recurring.zoned import zone_called
from scheduling.admin.rendering import Page
from scheduling.admin.site import console
from scheduling.models import RecurringTask
from scheduling.models.recurring import RecurringTaskQuerySet

WALK = 5_000
"""Rows that one page looks at, at most, when no index leads to what is asked for."""


class StandingFilter(ChoiceFilter):
    title = "state"
    parameter_name = "state"
    values = [standing.value for standing in Standing]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case None:
                return queryset
            case Standing.DISABLED:
                return cast("RecurringTaskQuerySet", queryset).disabled()
            case Standing.PAUSED:
                return queryset.filter(paused=True, disabled_reason="")
            case Standing.OVER:
                return queryset.filter(paused=False, disabled_reason="", next_at=None)
            case Standing.ACTIVE:
                return queryset.filter(paused=False, disabled_reason="", next_at__isnull=False)
            case _:
                return queryset.none()


class RecurringChangeList(CursorChangeList):
    """Of a state or a name no index tells, so a page looks at so many rows and no more, and says how to go on."""

    def get_results(self, request: HttpRequest) -> None:
        cursor, among = self.cursor(request), self._among(request)
        rows = self.queryset
        if cursor is not None:
            rows, among = rows.filter(pk__lt=cursor), among.filter(pk__lt=cursor)
            self.newest = self.get_query_string()
        floor = next(iter(among.values_list("pk", flat=True)[WALK - 1 : WALK]), None)
        if floor is not None:
            rows = rows.filter(pk__gte=floor)
        found = list(rows[: self.list_per_page + 1])
        shown = found[: self.list_per_page]
        if last := shown[-1].pk if len(found) > len(shown) else floor:
            self.older = self.get_query_string({PAGE_VAR: str(last)})
            self.walked = WALK if len(found) == len(shown) else None
        drawn = strips(shown)
        for row in shown:
            row.strip = drawn[row.pk]
        self.show(request, shown)

    def _among(self, request: HttpRequest) -> QuerySet[RecurringTask]:
        """What an index gives in this order: all of them, or those of the tenant that is asked for."""
        among: QuerySet[RecurringTask] = RecurringTask.objects.order_by("-pk")
        for spec in self.filter_specs:
            if isinstance(spec, TenantFilter):
                among = spec.queryset(request, among)
        return among


@admin.register(RecurringTask, site=console)
class RecurringAdmin(ReadOnlyAdmin[RecurringTask]):
    """What changes a row is a verb of the ledger, behind pages of its own."""

    title = "Recurring tasks"
    list_display = ("called", "stands", "rule", "coming", "latest")
    list_display_links = None
    list_select_related: ClassVar = ("tenant",)
    list_filter = (TenantFilter, StandingFilter)
    search_fields = ("name",)
    search_help_text = "A part of the name, or an id."
    ordering: ClassVar = ["-pk"]
    actions = None

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return RecurringChangeList

    def get_queryset(self, request: HttpRequest) -> QuerySet[RecurringTask]:
        return RecurringTask.objects.defer("payload", "declaration")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[RecurringTask], search_term: str
    ) -> tuple[QuerySet[RecurringTask], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            return queryset.filter(Q(pk=UUID(term)) | Q(name=term)), False
        except ValueError:
            return queryset.filter(name__icontains=term), False

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        one = {
            "edit": editing.edit_view,
            "pause": acts.pause_view,
            "resume": acts.resume_view,
            "run": acts.run_view,
            "backfill": backfilling.backfill_view,
            "delete": acts.delete_view,
        }
        return [
            path("add/", wrap(editing.add_view), name="scheduling_recurringtask_add"),
            path("preview/", wrap(editing.preview_view), name="scheduling_recurringtask_preview"),
            *(
                path(f"<uuid:pk>/{name}/", wrap(view), name=f"scheduling_recurringtask_{name}")
                for name, view in one.items()
            ),
            path("<uuid:pk>/change/", wrap(page.page_view), name="scheduling_recurringtask_change"),
            *super().get_urls(),
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may(request.user, Act.CREATE)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may_look(request.user)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return may_look(request.user)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"legend": page.LEGEND} | (extra_context or {}))

    @admin.display(description="name")
    def called(self, row: RecurringTask) -> SafeString:
        address = reverse("console:scheduling_recurringtask_change", args=[row.pk])
        return format_html(
            '<a href="{}">{}</a><br>{} <span class="quiet">{}</span>',
            address,
            row.name,
            row.tenant.slug,
            row.task_name,
        )

    @admin.display(description="state and latest ticks")
    def stands(self, row: Any) -> SafeString:
        shown = {"stand": stand_of(row), "failures": row.failures, "strip": row.strip}
        return Page("admin/recurring/stand.html").render(shown)

    @admin.display(description="when")
    def rule(self, row: RecurringTask) -> SafeString:
        return format_html(
            '{}<br><span class="quiet">{}{}</span>',
            in_words(row),
            format_html("<code>{}</code> ", row.cron) if row.cron else "",
            row.timezone,
        )

    @admin.display(description="next tick")
    def coming(self, row: RecurringTask) -> SafeString | str:
        """None is promised while it is silent: once it is resumed, it goes on from then."""
        now = clock.now()
        next_at = None if row.is_silent else row.next_at
        told = zoned.stamp(next_at, zone_called(row.timezone), now)
        return (
            format_html('{} <span class="warn">overdue</span>', told)
            if is_overdue(row, now)
            else told
        )

    @admin.display(description="last tick")
    def latest(self, row: RecurringTask) -> SafeString | str:
        return zoned.stamp(row.last_at, zone_called(row.timezone), clock.now())
