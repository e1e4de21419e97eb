"""Filters of the lists of tasks: by exact value, through whatever index finds it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from scheduling.models import Lane, Lease, Schedule, Task
from scheduling.states import DeadReason, TaskState
from tenants.models import Tenant

MOST_OFFERED = 12
"""Values shown as links; any other can be typed."""


class ValueFilter(admin.SimpleListFilter):
    """One exact value, typed or picked."""

    template = "admin/value_filter.html"
    others: Sequence[tuple[str, str]] = ()
    """What else the address asks for: typing a value keeps it."""

    def known(self) -> Iterable[str]:
        """Values worth offering."""
        return ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """None yet: they are read when they are shown, and not for each step of a sweep."""
        return []

    def has_output(self) -> bool:
        return True

    def value(self) -> str | None:
        """NUL is replaced: no text of the ledger has it, and PostgreSQL refuses to be asked for it."""
        value = super().value()
        return value and value.replace("\x00", "\ufffd")

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        self.others = [
            (key, value) for key, value in changelist.params.items() if key != self.parameter_name
        ]
        self.lookup_choices = [(value, value) for value in self.known()]
        return super().choices(changelist)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Task]) -> QuerySet[Task]:
        value = self.value()
        return queryset if not value else queryset.filter(**{str(self.parameter_name): value})


class TenantFilter(ValueFilter):
    title = "tenant"
    parameter_name = "tenant"

    def known(self) -> Iterable[str]:
        return Tenant.objects.values_list("slug", flat=True)[:MOST_OFFERED]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Task]) -> QuerySet[Task]:
        """By the tenant's id and not by a join, so that the index on (tenant, id) gives the order."""
        if not self.value():
            return queryset
        tenant = Tenant.objects.filter(slug=self.value()).first()
        return queryset.filter(tenant=tenant) if tenant else queryset.none()


class QueueFilter(ValueFilter):
    title = "queue"
    parameter_name = "queue"

    def known(self) -> Iterable[str]:
        queues = Lane.objects.order_by("queue").values_list("queue", flat=True).distinct()
        return queues[:MOST_OFFERED]


class NameFilter(ValueFilter):
    title = "name"
    parameter_name = "name"


class StateFilter(admin.SimpleListFilter):
    """The state, read from the table that holds such tasks: none of Task's indexes mentions it."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, state.value) for state in TaskState]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Task]) -> QuerySet[Task]:
        match self.value():
            case None:
                return queryset
            case TaskState.RUNNING:
                return queryset.filter(pk__in=Lease.objects.values("task"))
            case TaskState.QUEUED:
                return queryset.filter(pk__in=Schedule.objects.values("task"))
            case TaskState.DEAD:
                return queryset.filter(dead_reason__isnull=False)
            case TaskState.SUCCEEDED | TaskState.CANCELLED as state:
                return queryset.filter(state=state)
            case _:
                return queryset.none()


class DeadReasonFilter(admin.SimpleListFilter):
    title = "reason"
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(reason.value, reason.value.replace("_", " ")) for reason in DeadReason]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Task]) -> QuerySet[Task]:
        reason = self.value()
        if reason is None:
            return queryset
        return queryset.filter(dead_reason=reason) if reason in set(DeadReason) else queryset.none()
