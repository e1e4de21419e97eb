"""The list of tasks, and the page of one."""

import json
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import clock
from scheduling.admin import selection, timeline, words
from scheduling.admin.filters import NameFilter, QueueFilter, StateFilter, TenantFilter
from scheduling.admin.lists import ReadOnlyAdmin
from scheduling.admin.operations import PERMISSION, Operation
from scheduling.admin.site import console
from scheduling.models import OperatedTask, OperatorAction, Task
from tenants.models import Tenant

TEXT_SHOWN = 20_000
ACTIONS_SHOWN = 20


def named(task: Task) -> SafeString:
    """Its name, with the id to copy."""
    return format_html('{}<br><span class="task-id">{}</span>', task.name, task.pk)


def pretty(value: Any) -> str:
    """JSON for people. Long values are cut, and say so."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if len(text) <= TEXT_SHOWN:
        return text
    return f"{text[:TEXT_SHOWN]}\n… and {words.number(len(text) - TEXT_SHOWN)} more characters"


class OperatedAdmin(ReadOnlyAdmin[Task]):
    """Tasks that can be picked, and what can be done to them then."""

    search_fields = ("pk",)
    search_help_text = "A task's id, or an idempotency key."
    ordering: ClassVar = ["-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Task]:
        return Task.objects.without_blobs()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Task], search_term: str
    ) -> tuple[QuerySet[Task], bool]:
        """Exactly that task; by a key, of whichever tenant: asked one by one, as the key's index wants it."""
        term = search_term.strip()
        if not term:
            return queryset, False
        found = Q(tenant__in=Tenant.objects.values("pk"), idempotency_key=term)
        try:
            return queryset.filter(Q(pk=UUID(term)) | found), False
        except ValueError:
            return queryset.filter(found), False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(PERMISSION))

    def has_view_permission(self, request: HttpRequest, obj: Task | None = None) -> bool:
        """Of tasks, for dead letters too. Who may operate on them may look at them."""
        return bool(request.user.has_perm("scheduling.view_task")) or self.has_operate_permission(
            request
        )

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.action(description="Redrive dead letters", permissions=["operate"])
    def redrive(self, request: HttpRequest, queryset: QuerySet[Task]) -> HttpResponse:
        return self._ask(request, Operation.REDRIVE, queryset)

    @admin.action(description="Discard dead letters", permissions=["operate"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Task]) -> HttpResponse:
        return self._ask(request, Operation.DISCARD, queryset)

    def _ask(
        self, request: HttpRequest, operation: Operation, queryset: QuerySet[Task]
    ) -> HttpResponse:
        return selection.ask(request, operation, queryset, request.get_full_path())

    @admin.display(description="task")
    def task(self, task: Task) -> SafeString:
        return named(task)

    @admin.display(description="created")
    def created(self, task: Task) -> SafeString | str:
        return words.stamp(task.created_at, clock.now())

    @admin.display(description="attempts")
    def attempted(self, task: Task) -> str:
        return f"{task.attempts} / {task.max_attempts}"


@admin.register(Task, site=console)
class TaskAdmin(OperatedAdmin):
    title = "Tasks"
    list_select_related = ("tenant", "schedule")
    list_display = ("task", "phase", "tenant", "queue", "priority", "attempted", "due", "created")
    list_filter = (StateFilter, TenantFilter, QueueFilter, NameFilter)
    actions = ("cancel", "redrive", "discard")

    def get_urls(self) -> list[URLPattern]:
        operate = self.admin_site.admin_view(selection.operate)
        verbs = [
            path(f"{verb}/", operate, {"operation": verb}, name=f"scheduling_task_{verb}")
            for verb in Operation
        ]
        return verbs + super().get_urls()

    @admin.action(description="Cancel tasks", permissions=["operate"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Task]) -> HttpResponse:
        return self._ask(request, Operation.CANCEL, queryset)

    @admin.display(description="phase")
    def phase(self, task: Task) -> SafeString:
        phase = task.phase(clock.now())
        return format_html('<span class="phase {0}">{0}</span>', phase)

    @admin.display(description="due")
    def due(self, task: Task) -> SafeString | str:
        schedule = getattr(task, "schedule", None)
        return words.stamp(schedule.due_at, clock.now()) if schedule else words.NOTHING

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page of one task. Nothing in it is a form for the task itself."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        task = _found(object_id)
        now = clock.now()
        context = self.admin_site.each_context(request) | {
            "title": task.name,
            "task": task,
            "phase": task.phase(now),
            "payload": pretty(_payload(task)),
            "result": pretty(task.result),
            "timeline": timeline.of(task, now),
            "actions_taken": _actions(task),
            "operations": _operations(task) if self.has_operate_permission(request) else [],
        }
        return TemplateResponse(request, "admin/task.html", context | (extra_context or {}))


def _found(object_id: str) -> Task:
    try:
        return Task.objects.select_related("tenant", "schedule", "lease").get(pk=UUID(object_id))
    except (ValueError, Task.DoesNotExist) as error:
        raise Http404("There is no such task. Finished tasks are pruned after a while.") from error


def _payload(task: Task) -> Any:
    """As the API has it: an object; with positional arguments from Python, both."""
    return {"args": task.args, "kwargs": task.kwargs} if task.args else task.kwargs


def _actions(task: Task) -> QuerySet[OperatorAction]:
    """What operators did to it, latest first."""
    of_it = OperatedTask.objects.filter(task=task.pk).values("action")
    return OperatorAction.objects.filter(pk__in=of_it).order_by("-pk")[:ACTIONS_SHOWN]


def _operations(task: Task) -> list[Operation]:
    """Those that apply to it as it stands."""
    if task.dead_reason:
        return [Operation.REDRIVE, Operation.DISCARD]
    return [] if task.is_terminal else [Operation.CANCEL]
