"""Filters of the lists. Those of tasks only say what is asked for: `scheduling.lists.narrowing` knows how to find it."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from scheduling import clock
from scheduling.lists.narrowing import STATES
from scheduling.models import Lane
from scheduling.states import DeadReason
from tenants.models import Tenant

MOST_OFFERED = 12
"""Values shown as links; any other can be typed."""
LATELY: Sequence[tuple[str, timedelta]] = (
    ("last hour", timedelta(hours=1)),
    ("last 24 hours", timedelta(days=1)),
    ("last 7 days", timedelta(days=7)),
)


class Others:
    """Typing a value keeps what else the address asks for."""

    others: Sequence[tuple[str, str]] = ()

    def keep_others(self, changelist: ChangeList, mine: Sequence[str]) -> None:
        self.others = [item for item in changelist.params.items() if item[0] not in mine]


class ValueFilter(Others, admin.SimpleListFilter):
    """One exact value, typed or picked."""

    template = "admin/value_filter.html"
    asks = ""
    """Of tasks: under which name `narrowing` knows it. Other rows are filtered by their column."""

    def known(self) -> Iterable[str]:
        """Values worth offering."""
        return ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """None yet: they are read when they are shown, and not for each step of a sweep."""
        return []

    def has_output(self) -> bool:
        return True

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        self.keep_others(changelist, [str(self.parameter_name)])
        self.lookup_choices = [(value, value) for value in self.known()]
        return super().choices(changelist)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value or self.asks:
            return queryset
        return queryset.filter(**{str(self.parameter_name): value})

    def asked(self) -> dict[str, Any]:
        value = self.value()
        return {self.asks: value} if value and self.asks else {}


class TenantFilter(ValueFilter):
    title = "tenant"
    parameter_name = "tenant"

    def known(self) -> Iterable[str]:
        return Tenant.objects.values_list("slug", flat=True)[:MOST_OFFERED]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the tenant's id and not by a join, so that the index on (tenant, id) gives the order."""
        if not self.value():
            return queryset
        tenant = Tenant.objects.filter(slug=self.value()).first()
        return queryset.filter(tenant=tenant) if tenant else queryset.none()


class QueueFilter(ValueFilter):
    title = "queue"
    parameter_name = asks = "queue"

    def known(self) -> Iterable[str]:
        queues = Lane.objects.order_by("queue").values_list("queue", flat=True).distinct()
        return queues[:MOST_OFFERED]


class NameFilter(ValueFilter):
    title = "name"
    parameter_name = asks = "name"


class LabelFilter(ValueFilter):
    title = "label"
    parameter_name = asks = "label"


class ErrorFilter(ValueFilter):
    """The class of the last error, such as `ValueError`."""

    title = "error"
    parameter_name = "error"
    asks = "error_class"


class ChoiceFilter(admin.SimpleListFilter):
    """One of a few values. Any other is nothing's."""

    values: Sequence[str] = ()
    asks = ""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, value.replace("_", " ")) for value in self.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() in (None, *self.values) else queryset.none()

    def asked(self) -> dict[str, Any]:
        return {self.asks: self.value()} if self.value() in self.values else {}


class StateFilter(ChoiceFilter):
    title = "state"
    parameter_name = asks = "state"
    values = STATES


class DeadReasonFilter(ChoiceFilter):
    title = "reason"
    parameter_name = "reason"
    asks = "dead_reason"
    values = [reason.value for reason in DeadReason]


class TimeFilter(Others, admin.ListFilter):
    """From one instant to another, in UTC, each of them optional; or lately."""

    template = "admin/time_filter.html"
    parameters: ClassVar[Sequence[str]] = ()
    """Of the first instant, and of the one after the last; `narrowing` knows them by the same names."""

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: Any
    ) -> None:
        super().__init__(request, params, model, model_admin)
        for name in self.parameters:
            if name in params:
                self.used_parameters[name] = str(params.pop(name)[-1])

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return list(self.parameters)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset

    def asked(self) -> dict[str, Any]:
        return {name: instant(str(value)) for name, value in self.used_parameters.items() if value}

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        self.keep_others(changelist, self.parameters)
        self.fields = [
            (name, self.used_parameters.get(name, ""), word)
            for name, word in zip(self.parameters, ("from", "to"), strict=True)
        ]
        first, last = self.parameters
        yield {
            "display": "any time",
            "selected": not self.used_parameters,
            "query_string": changelist.get_query_string(remove=[first, last]),
        }
        for display, length in LATELY:
            begin = f"{clock.now() - length:%Y-%m-%dT%H:%M}"
            yield {
                "display": display,
                "selected": self.used_parameters == {first: begin},
                "query_string": changelist.get_query_string({first: begin, last: None}),
            }


class CreatedFilter(TimeFilter):
    title = "when it was created"
    parameters = ("created_after", "created_before")


class DiedFilter(TimeFilter):
    title = "when it died"
    parameters = ("finished_after", "finished_before")


def instant(text: str) -> datetime:
    """As a browser's field for dates and times gives it, meant as UTC."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise IncorrectLookupParameters(f"{text} is no date and time.") from error
