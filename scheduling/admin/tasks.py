"""The list of tasks, and the page of one."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import clock, ledger
from scheduling.admin import rescheduling, selection, timeline, words
from scheduling.admin.filters import (
    CreatedFilter,
    ErrorFilter,
    LabelFilter,
    NameFilter,
    QueueFilter,
    StateFilter,
    TenantFilter,
)
from scheduling.admin.lists import PageAdmin
from scheduling.admin.operations import Operation, allowed
from scheduling.admin.shown import pretty
from scheduling.admin.site import console, whole_page
from scheduling.admin.task_list import OperatedAdmin
from scheduling.models import OperatedTask, OperatorAction, Task
from scheduling.sentences import sentence
from scheduling.states import TaskState
from tenants.models import Tenant

ACTIONS_SHOWN = 20


@admin.register(Task, site=console)
class TaskAdmin(PageAdmin[Task], OperatedAdmin):
    title = "Tasks"
    page_template = "admin/task.html"
    list_select_related = ("tenant", "schedule")
    list_display = ("task", "phase", "tenant", "queue", "priority", "attempted", "due", "created")
    list_filter = (
        StateFilter,
        TenantFilter,
        QueueFilter,
        NameFilter,
        LabelFilter,
        ErrorFilter,
        CreatedFilter,
    )
    actions = ("cancel", "run_now", "redrive", "discard")

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        verbs = [
            path(
                f"{verb}/",
                wrap(selection.operate),
                {"operation": verb},
                name=f"scheduling_task_{verb}",
            )
            for verb in Operation
        ]
        return [
            *verbs,
            path(
                "<uuid:task_id>/reschedule/",
                wrap(rescheduling.view),
                name="scheduling_task_reschedule",
            ),
            path("<uuid:task_id>/live/", console.part(self.live_view), name="scheduling_task_live"),
            *super().get_urls(),
        ]

    @admin.action(description="Cancel tasks", permissions=["cancel"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Task]) -> HttpResponse:
        return self.ask(request, Operation.CANCEL, queryset)

    @admin.action(description="Make tasks due now", permissions=["reschedule"])
    def run_now(self, request: HttpRequest, queryset: QuerySet[Task]) -> HttpResponse:
        return self.ask(request, Operation.RUN_NOW, queryset)

    @admin.display(description="phase")
    def phase(self, task: Task) -> SafeString:
        phase = task.phase(clock.now())
        return format_html('<span class="phase {0}">{0}</span>', phase)

    @admin.display(description="due")
    def due(self, task: Task) -> SafeString | str:
        schedule = getattr(task, "schedule", None)
        return words.stamp(schedule.due_at, clock.now()) if schedule else words.NOTHING

    def about(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        task = _found(object_id)
        now = clock.now()
        return {
            "title": task.name,
            **_standing(task, now),
            "payload": pretty(_payload(task)),
            "result": pretty(task.result),
            "timeline": timeline.of(task, now),
            "actions_taken": _actions(task),
            "operations": allowed(request.user, _applicable(task)),
            "may_reschedule": task.state == TaskState.QUEUED
            and self.has_reschedule_permission(request),
        }

    def live_view(self, request: HttpRequest, task_id: UUID) -> HttpResponse:
        """How it stands, for its page to keep fresh.

        When it has moved on, or who looks was signed out, the whole page is to be loaded again.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        now = clock.now()
        standing = _standing(_found(str(task_id)), now)
        if request.GET.get("seen") != standing["version"]:
            return whole_page()
        tenants = self.admin_site.get_model_admin(Tenant)
        may_see_tenants = tenants.has_view_or_change_permission(request)
        context = {"now": now, "may_see_tenants": may_see_tenants} | standing
        return TemplateResponse(request, "admin/task_standing.html", context)


def _standing(task: Task, now: datetime) -> dict[str, Any]:
    """What changes from one moment to the next. `version` is another one when its timeline has more to tell."""
    phase = task.phase(now)
    return {
        "task": task,
        "phase": phase,
        "why": None if task.is_terminal else _why(task),
        "version": f"{phase}-{task.generation}-{task.attempts}",
    }


def _found(object_id: str) -> Task:
    tasks = Task.objects.select_related("tenant", "schedule__lane", "lease", "tick__recurring")
    try:
        return tasks.get(pk=UUID(object_id))
    except (ValueError, Task.DoesNotExist) as error:
        raise Http404("There is no such task. Finished tasks are pruned after a while.") from error


def _why(task: Task) -> str:
    """It is not running, or what it is at."""
    return sentence(task, ledger.explain(task), words.exact)


def _payload(task: Task) -> Any:
    """As the API has it: an object; with positional arguments from Python, both."""
    return {"args": task.args, "kwargs": task.kwargs} if task.args else task.kwargs


def _actions(task: Task) -> QuerySet[OperatorAction]:
    """What operators did to it, latest first."""
    of_it = OperatedTask.objects.filter(task=task.pk).values("action")
    return OperatorAction.objects.filter(pk__in=of_it).order_by("-pk")[:ACTIONS_SHOWN]


def _applicable(task: Task) -> list[Operation]:
    """Those that make sense for it as it stands."""
    if task.dead_reason:
        return [Operation.REDRIVE, Operation.DISCARD]
    if task.is_terminal:
        return []
    schedule = getattr(task, "schedule", None)
    is_ahead = schedule is not None and schedule.due_at > clock.now()
    return [Operation.RUN_NOW, Operation.CANCEL] if is_ahead else [Operation.CANCEL]
