"""The addresses of version 1."""

from django.urls import path

from scheduling.api.v1.batch import BatchView
from scheduling.api.v1.dead_letters import DiscardDeadLettersView, RedriveDeadLettersView
from scheduling.api.v1.docs import docs
from scheduling.api.v1.execution_control import ExecutionControlView
from scheduling.api.v1.explain import ExplainView
from scheduling.api.v1.leases import ClaimView, RenewView, SettleView
from scheduling.api.v1.limits import LimitsView, QueuesView
from scheduling.api.v1.openapi import OpenApiView
from scheduling.api.v1.recurring_tasks import (
    PauseView,
    RecurringTasksView,
    RecurringTaskView,
    ResumeView,
)
from scheduling.api.v1.recurring_ticks import (
    BackfillView,
    PreviewView,
    RunNowView,
    StoredPreviewView,
    TicksView,
)
from scheduling.api.v1.tasks import CancelView, RedriveView, TasksView, TaskView

urlpatterns = [
    path("openapi.json", OpenApiView.as_view(), name="openapi"),
    path("docs", docs, name="docs"),
    path("tasks", TasksView.as_view(), name="tasks"),
    path("tasks/batch", BatchView.as_view(), name="tasks-batch"),
    path("tasks/<str:task_id>", TaskView.as_view(), name="task"),
    path("tasks/<str:task_id>/explain", ExplainView.as_view(), name="task-explain"),
    path("tasks/<str:task_id>/cancel", CancelView.as_view(), name="task-cancel"),
    path("tasks/<str:task_id>/redrive", RedriveView.as_view(), name="task-redrive"),
    path("recurring-tasks", RecurringTasksView.as_view(), name="recurring-tasks"),
    path("recurring-tasks/preview", PreviewView.as_view(), name="recurring-preview"),
    path(
        "recurring-tasks/<str:recurring_task_id>",
        RecurringTaskView.as_view(),
        name="recurring-task",
    ),
    *(
        path(
            f"recurring-tasks/<str:recurring_task_id>/{name}",
            view.as_view(),
            name=f"recurring-task-{name}",
        )
        for name, view in {
            "pause": PauseView,
            "resume": ResumeView,
            "run": RunNowView,
            "backfill": BackfillView,
            "preview": StoredPreviewView,
            "ticks": TicksView,
        }.items()
    ),
    path("limits", LimitsView.as_view(), name="limits"),
    path("queues", QueuesView.as_view(), name="queues"),
    path("execution-control", ExecutionControlView.as_view(), name="execution-control"),
    path("leases", ClaimView.as_view(), name="leases"),
    path("leases/renew", RenewView.as_view(), name="leases-renew"),
    path("leases/settle", SettleView.as_view(), name="leases-settle"),
    path("dead-letters/redrive", RedriveDeadLettersView.as_view(), name="dead-letters-redrive"),
    path("dead-letters/discard", DiscardDeadLettersView.as_view(), name="dead-letters-discard"),
]
