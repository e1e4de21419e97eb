"""Lists that stay cheap over millions of rows, of models that nobody edits by hand."""

from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib import admin
from django.contrib.admin.options import ShowFacets
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model
from django.http import HttpRequest, HttpResponse

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

    def get_results(self, request: HttpRequest) -> None:
        self.page_num = min(max(self.page_num, 1), self.MOST_PAGES)
        start = (self.page_num - 1) * self.list_per_page
        ids = list(
            self.queryset.values_list("pk", flat=True)[start : start + self.list_per_page + 1]
        )
        self.has_next = len(ids) > self.list_per_page
        ids = ids[: self.list_per_page]
        self.result_list = self.queryset.filter(pk__in=ids)
        self.result_count = len(ids)
        self.full_result_count = self.result_count  # equal: nothing is said about a total
        self.show_full_result_count = False
        self.show_admin_actions = bool(ids)
        self.can_show_all = self.multi_page = False
        self.paginator = self.model_admin.get_paginator(
            request, self.result_list, self.list_per_page
        )

    def get_ordering(self, request: HttpRequest, queryset: Any) -> list[Any]:
        """The order that an index gives, whatever the address asks for."""
        return list(self.model_admin.get_ordering(request))

    @property
    def newer(self) -> str | None:
        if self.page_num == 1:
            return None
        return self.get_query_string({"p": self.page_num - 1})

    @property
    def older(self) -> str | None:
        return self.get_query_string({"p": self.page_num + 1}) if self.has_next else None


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
        offered = (getattr(item, "parameter_name", item) for item in self.get_list_filter(request))
        return lookup in offered

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False
