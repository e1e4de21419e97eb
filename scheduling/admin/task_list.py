"""The lists of tasks: what is searched and filtered for, and what can be done to those that are picked."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.core.exceptions import BadRequest, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import clock
from scheduling.admin import selection, words
from scheduling.admin.lists import CursorChangeList, ReadOnlyAdmin
from scheduling.admin.operations import Operation
from scheduling.lists import paging
from scheduling.lists.narrowing import Narrowed, narrowed
from scheduling.models import Task
from scheduling.models.task import TaskQuerySet
from tenants.models import Tenant

STEPS = 1
"""Of a page: with all else that it shows it has no more than fifteen queries."""
MOST_WITH_ONE_KEY = 100
"""Tasks of so many tenants are found by one key, and beside them so many with that text for a label."""


class TaskChangeList(CursorChangeList):
    """Newest first. Where no index leads to what matches, a page looks at so many tasks and no more."""

    narrowed: Narrowed
    asked: Mapping[str, Any]
    """As `scheduling.sweeps` takes it."""
    by_label = True
    """An index leads from a label to its tasks."""

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: list[str | None] | None = None
    ) -> TaskQuerySet:
        tasks = cast("TaskQuerySet", super().get_queryset(request, exclude_parameters))
        asked: dict[str, Any] = {}
        for spec in self.filter_specs:
            asked |= getattr(spec, "asked", dict)()
        if term := self.query.strip():
            tasks = self._found(tasks, term, asked)
        slug = self.params.get("tenant", "")
        tenant = Tenant.objects.filter(slug=slug).first() if slug else None
        self.asked = asked | ({"tenant": slug} if slug else {})
        self.narrowed = narrowed(tasks, asked, clock.now(), tenant=tenant, by_label=self.by_label)
        return self.narrowed.tasks

    def _found(self, tasks: TaskQuerySet, term: str, asked: dict[str, Any]) -> TaskQuerySet:
        """That task, or those under that key; if there is none, those of that label, or else of that name."""
        if ids := _ids(term):
            asked["ids"] = ids
            return tasks.filter(pk__among=ids)
        part = "label" if Task.objects.filter(label=term).exists() else "name"
        return tasks if asked.setdefault(part, term) == term else tasks.none()

    def get_results(self, request: HttpRequest) -> None:
        cursor = self.cursor(request)
        page = paging.page(
            self.narrowed.step, cursor=cursor, limit=self.list_per_page, most_steps=STEPS
        )
        if cursor is not None:
            self.newest = self.get_query_string()
        if page.next_cursor is not None:
            self.older = self.get_query_string({PAGE_VAR: str(page.next_cursor)})
            self.walked = page.walked or None
        self.show(request, page.tasks)


def _ids(term: str) -> list[UUID]:
    """Asked one after the other, as each has its own index; for a key, of one tenant after the other."""
    with suppress(ValueError):  # it is no id, then
        if ids := list(Task.objects.filter(pk=UUID(term)).values_list("pk", flat=True)):
            return ids
    found = Task.objects.filter(tenant__in=Tenant.objects.values("pk"), idempotency_key=term)
    if not (keyed := list(found.values_list("pk", flat=True)[:MOST_WITH_ONE_KEY])):
        return []
    labelled = Task.objects.filter(label=term).order_by("-pk").values_list("pk", flat=True)
    return [*keyed, *labelled[:MOST_WITH_ONE_KEY]]


class OperatedAdmin(ReadOnlyAdmin[Task]):
    """Tasks that can be picked, and what can be done to them then."""

    search_fields = ("pk",)
    search_help_text = "A task's id, an idempotency key, a label, or a name: exactly."
    ordering: ClassVar = ["-pk"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return TaskChangeList

    def get_queryset(self, request: HttpRequest) -> TaskQuerySet:
        return Task.objects.without_blobs()

    def response_action(self, *args: Any, **kwargs: Any) -> HttpResponse | None:
        try:
            return super().response_action(*args, **kwargs)
        except ValidationError as error:
            raise BadRequest("A task's id is a UUID.") from error

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Task], search_term: str
    ) -> tuple[QuerySet[Task], bool]:
        """The list itself knows how to search."""
        return queryset, False

    def has_view_permission(self, request: HttpRequest, obj: Task | None = None) -> bool:
        """Of tasks, for dead letters too. Who may do something to them may look at them."""
        wanted = ("scheduling.view_task", *(each.permission for each in Operation))
        return any(map(request.user.has_perm, wanted))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(Operation.CANCEL.permission))

    def has_reschedule_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(Operation.RUN_NOW.permission))

    def has_redrive_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(Operation.REDRIVE.permission))

    def has_discard_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(Operation.DISCARD.permission))

    @admin.action(description="Redrive dead letters", permissions=["redrive"])
    def redrive(self, request: HttpRequest, queryset: QuerySet[Task]) -> HttpResponse:
        return self.ask(request, Operation.REDRIVE, queryset)

    @admin.action(description="Discard dead letters", permissions=["discard"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Task]) -> HttpResponse:
        return self.ask(request, Operation.DISCARD, queryset)

    def ask(
        self, request: HttpRequest, operation: Operation, queryset: QuerySet[Task]
    ) -> HttpResponse:
        return selection.ask(request, operation, queryset, request.get_full_path())

    @admin.display(description="task")
    def task(self, task: Task) -> SafeString:
        """Its name, its label if it has one, and the id to copy."""
        label = (
            format_html('<br><span class="task-label">{}</span>', task.label) if task.label else ""
        )
        return format_html('{}{}<br><span class="task-id">{}</span>', task.name, label, task.pk)

    @admin.display(description="created")
    def created(self, task: Task) -> SafeString | str:
        return words.stamp(task.created_at, clock.now())

    @admin.display(description="attempts")
    def attempted(self, task: Task) -> str:
        return f"{task.attempt} / {task.max_attempts}"
