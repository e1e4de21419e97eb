"""Lists that stay cheap over millions of rows, of models that nobody edits by hand."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib import admin
from django.contrib.admin.options import ShowFacets
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

M = TypeVar("M", bound=Model)

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin
else:

    class ModelAdmin(admin.ModelAdmin):
        """Django's, which is generic in its stubs only."""

        def __class_getitem__(cls, model: type[Model]) -> type[admin.ModelAdmin]:
            return cls


class UncountedChangeList(ChangeList):
    """A page of a list whose length nobody asks for: it knows whether there is a next one.

    The ids of a page are read first, from an index, and only then their rows: a page far down the
    list skips index entries and not rows.
    """

    MOST_PAGES = 1_000_000
    newest: str | None = None
    newer: str | None = None
    older: str | None = None
    is_by_cursor = False
    walked: int | None = None
    """How many rows were looked at, when there may be more that match."""

    def get_results(self, request: HttpRequest) -> None:
        self.page_num = min(max(self.page_num, 1), self.MOST_PAGES)
        start = (self.page_num - 1) * self.list_per_page
        ids = list(
            self.queryset.values_list("pk", flat=True)[start : start + self.list_per_page + 1]
        )
        if self.page_num > 1:
            self.newer = self.get_query_string({PAGE_VAR: self.page_num - 1})
        if len(ids) > self.list_per_page:
            self.older = self.get_query_string({PAGE_VAR: self.page_num + 1})
        self.show(request, self.queryset.filter(pk__in=ids[: self.list_per_page]))

    def show(self, request: HttpRequest, rows: Any) -> None:
        self.result_list = rows
        self.result_count = len(rows)
        self.full_result_count = self.result_count  # equal: nothing is said about a total
        self.show_full_result_count = False
        self.show_admin_actions = bool(rows)
        self.can_show_all = self.multi_page = False
        self.paginator = self.model_admin.get_paginator(request, rows, self.list_per_page)

    def get_ordering(self, request: HttpRequest, queryset: Any) -> list[Any]:
        """The order that an index gives, whatever the address asks for."""
        return list(self.model_admin.get_ordering(request))


class CursorChangeList(UncountedChangeList):
    """Newest first, by key: a page begins after the last key of the one before, however far down it is."""

    is_by_cursor = True

    def get_results(self, request: HttpRequest) -> None:
        rows = self.queryset
        if (cursor := self.cursor(request)) is not None:
            rows = rows.filter(pk__lt=cursor)
            self.newest = self.get_query_string()
        found = list(rows[: self.list_per_page + 1])
        shown = found[: self.list_per_page]
        if len(found) > len(shown):
            self.older = self.get_query_string({PAGE_VAR: shown[-1].pk})
        self.show(request, shown)

    def cursor(self, request: HttpRequest) -> Any:
        """None at the beginning, and for what is no key."""
        try:
            return self.model._meta.pk.to_python(request.GET.get(PAGE_VAR)) or None
        except ValidationError:
            return None


class ReadOnlyAdmin(ModelAdmin[M]):
    """Rows to look at. What changes them is a verb of the ledger, not a form."""

    actions_on_top = True
    list_per_page = 50
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    sortable_by = ()
    title = ""
    """Of the list's page."""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return UncountedChangeList

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"title": self.title} | (extra_context or {}))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only what the filters offer: any other lookup may walk the whole table."""
        return any(lookup in parameters(item) for item in self.get_list_filter(request))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False


class PageAdmin(ReadOnlyAdmin[M]):
    """With a page for each row, in which nothing is a form for the row itself."""

    page_template = ""

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = self.admin_site.each_context(request) | self.about(request, object_id)
        return TemplateResponse(request, self.page_template, context | (extra_context or {}))

    def about(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        """What the page says. Http404 when there is no such row."""
        raise NotImplementedError(f"{type(self).__name__} has a page, and nothing to say on it.")


def parameters(item: Any) -> Sequence[str]:
    """Under which names a filter is asked for in the address."""
    return getattr(item, "parameters", None) or (getattr(item, "parameter_name", item),)
