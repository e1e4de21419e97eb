"""Dead letters: what there is of which kind, the list, and what is done to all that match its filters."""

from functools import cached_property
from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import BadRequest
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import clock
from scheduling.admin import export, sweeping, words
from scheduling.admin.filters import (
    DeadReasonFilter,
    DiedFilter,
    ErrorFilter,
    LabelFilter,
    NameFilter,
    QueueFilter,
    TenantFilter,
)
from scheduling.admin.operations import Operation, allowed
from scheduling.admin.site import console
from scheduling.admin.task_list import OperatedAdmin, TaskChangeList
from scheduling.lists.letters import Found
from scheduling.models import DeadLetter, Sweep, Task
from scheduling.models.task import TaskQuerySet

MESSAGE_SHOWN = 200
SWEEPS = (Operation.REDRIVE, Operation.DISCARD)
"""What can be done to all that match."""
SWEEPS_SHOWN = 5


class DeadLetterChangeList(TaskChangeList):
    by_label = False  # one leads to the dead letters

    def url_for_result(self, result: Model) -> str:
        """A dead letter is a task, and has its page."""
        return reverse("console:scheduling_task_change", args=[result.pk])

    @cached_property
    def found(self) -> Found:
        """All that match, not this page of them."""
        among = self.narrowed.among
        return Found(self.queryset, self.queryset if among is None else among)

    @property
    def which(self) -> str:
        """The filters in words."""
        chosen = [f"{key}={value}" for key, value in sorted(self.params.items()) if value]
        return f"dead letters with {', '.join(chosen)}" if chosen else "all dead letters"

    @property
    def filters(self) -> str:
        return self.get_query_string().removeprefix("?")


@admin.register(DeadLetter, site=console)
class DeadLetterAdmin(OperatedAdmin):
    title = "Dead letters"
    list_display = ("task", "why", "tenant", "queue", "attempted", "died")
    list_filter = (
        TenantFilter,
        NameFilter,
        ErrorFilter,
        DeadReasonFilter,
        QueueFilter,
        LabelFilter,
        DiedFilter,
    )
    list_select_related = ("tenant",)
    actions = ("redrive", "discard")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return DeadLetterChangeList

    def get_queryset(self, request: HttpRequest) -> TaskQuerySet:
        return super().get_queryset(request).dead()

    def matching(self, request: HttpRequest) -> DeadLetterChangeList:
        """What the filters in the address match. BadRequest for one that says nothing."""
        try:
            return cast("DeadLetterChangeList", self.get_changelist_instance(request))
        except IncorrectLookupParameters as error:
            raise BadRequest(f"The filters in the address: {error}") from error

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        ask = [
            path(
                f"{verb}-all/",
                wrap(sweeping.ask_view),
                {"operation": verb, "letters": self},
                name=f"scheduling_deadletter_{verb}_all",
            )
            for verb in SWEEPS
        ]
        return [
            *ask,
            path(
                "sweeps/<int:sweep_id>/",
                wrap(sweeping.sweep_view),
                name="scheduling_deadletter_sweep",
            ),
            path(
                "sweeps/<int:sweep_id>/cancel/",
                wrap(sweeping.cancel_view),
                name="scheduling_deadletter_sweep_cancel",
            ),
            path(
                "export.<str:kind>",
                wrap(export.view),
                {"letters": self},
                name="scheduling_deadletter_export",
            ),
            *super().get_urls(),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().changelist_view(
            request,
            {
                "sweeping": allowed(request.user, SWEEPS),
                "sweeps": Sweep.objects.under_way()[:SWEEPS_SHOWN],
            }
            | (extra_context or {}),
        )
        if "cl" in (context := getattr(response, "context_data", None) or {}):
            context["groups"] = context["cl"].found.groups()
            context["matching"] = context["cl"].found.matching()
        return response

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The stock page would show all there is, what is to be redacted too."""
        return HttpResponseRedirect(reverse("console:scheduling_task_change", args=[object_id]))

    @admin.display(description="why it is dead")
    def why(self, task: Task) -> SafeString:
        """The reason, and the last error if there was one."""
        reason = format_html('<span class="phase dead">{}</span>', task.get_dead_reason_display())
        if not isinstance(task.error, dict):
            return reason
        message = str(task.error.get("message", ""))
        short = message if len(message) <= MESSAGE_SHOWN else f"{message[:MESSAGE_SHOWN]}…"
        return format_html("{} <b>{}</b> {}", reason, task.error.get("class", ""), short)

    @admin.display(description="died")
    def died(self, task: Task) -> SafeString | str:
        return words.stamp(task.finished_at, clock.now())
