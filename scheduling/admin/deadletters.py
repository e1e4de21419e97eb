"""The list of dead letters, and what is done to all of them that match its filters."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import clock
from scheduling.admin import sweep, words
from scheduling.admin.audit import operator
from scheduling.admin.filters import DeadReasonFilter, NameFilter, QueueFilter, TenantFilter
from scheduling.admin.lists import UncountedChangeList
from scheduling.admin.operations import Operation
from scheduling.admin.site import console
from scheduling.admin.tasks import OperatedAdmin
from scheduling.models import DeadLetter, Task

MESSAGE_SHOWN = 200
SWEEPING = (Operation.REDRIVE, Operation.DISCARD)


class DeadLetterChangeList(UncountedChangeList):
    def url_for_result(self, result: Model) -> str:
        """A dead letter is a task, and has its page."""
        return reverse("admin:scheduling_task_change", args=[result.pk])


@admin.register(DeadLetter, site=console)
class DeadLetterAdmin(OperatedAdmin):
    title = "Dead letters"
    list_display = ("task", "reason", "last_error", "tenant", "queue", "attempted", "died")
    list_filter = (TenantFilter, NameFilter, QueueFilter, DeadReasonFilter)
    list_select_related = ("tenant",)
    actions = ("redrive", "discard")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return DeadLetterChangeList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Task]:
        return super().get_queryset(request).filter(dead_reason__isnull=False)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.sweep_view)
        verbs = [
            path(
                f"{verb}-all/", view, {"operation": verb}, name=f"scheduling_deadletter_{verb}_all"
            )
            for verb in SWEEPING
        ]
        return verbs + super().get_urls()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        sweeping = SWEEPING if self.has_operate_permission(request) else ()
        filters = request.GET.urlencode()
        return super().changelist_view(
            request, {"sweeping": sweeping, "filters": filters} | (extra_context or {})
        )

    def sweep_view(self, request: HttpRequest, operation: Operation) -> HttpResponse:
        """GET asks, a first POST begins, each further one takes a step; the filters are in the address."""
        if not self.has_operate_permission(request):
            raise PermissionDenied
        changelist = self.get_changelist_instance(request)
        letters = changelist.queryset
        if request.method != "POST":
            return self._ask_all(request, operation, changelist, letters)
        if "progress" in request.POST:
            progress = sweep.Progress.read(request.POST["progress"])
        else:
            progress = sweep.begin(operation, _which(changelist), operator(request), clock.now())
        progress = sweep.step(progress, letters)
        if progress.finished:
            return self._report(request, progress, changelist)
        return self._go_on(request, progress, changelist)

    def _ask_all(
        self,
        request: HttpRequest,
        operation: Operation,
        changelist: ChangeList,
        letters: QuerySet[Task],
    ) -> HttpResponse:
        context = self.admin_site.each_context(request) | {
            "title": f"{operation.value.capitalize()} all that match?",
            "operation": operation,
            "which": _which(changelist),
            "matching": sweep.matching(letters),
            "groups": sweep.groups(letters),
            "back": _back(changelist),
        }
        return TemplateResponse(request, "admin/confirm_sweep.html", context)

    def _go_on(
        self, request: HttpRequest, progress: sweep.Progress, changelist: ChangeList
    ) -> HttpResponse:
        context = self.admin_site.each_context(request) | {
            "title": f"{progress.operation.value.capitalize()} all that match",
            "progress": progress,
            "told": sweep.told(progress),
            "back": _back(changelist),
        }
        return TemplateResponse(request, "admin/sweep.html", context)

    def _report(
        self, request: HttpRequest, progress: sweep.Progress, changelist: ChangeList
    ) -> HttpResponse:
        level = messages.WARNING if progress.left else messages.SUCCESS
        messages.add_message(request, level, sweep.told(progress))
        return HttpResponseRedirect(_back(changelist))

    @admin.display(description="reason")
    def reason(self, task: Task) -> SafeString:
        return format_html('<span class="phase dead">{}</span>', task.get_dead_reason_display())

    @admin.display(description="last error")
    def last_error(self, task: Task) -> SafeString | str:
        if not task.error:
            return words.NOTHING
        message = str(task.error.get("message", ""))
        short = message if len(message) <= MESSAGE_SHOWN else f"{message[:MESSAGE_SHOWN]}…"
        return format_html("<b>{}</b> {}", task.error.get("class", ""), short)

    @admin.display(description="died")
    def died(self, task: Task) -> SafeString | str:
        return words.stamp(task.finished_at, clock.now())


def _which(changelist: ChangeList) -> str:
    """The filters in words."""
    chosen = [f"{key}={value}" for key, value in sorted(changelist.params.items()) if value]
    return f"dead letters with {', '.join(chosen)}" if chosen else "all dead letters"


def _back(changelist: ChangeList) -> str:
    address = reverse("admin:scheduling_deadletter_changelist")
    return f"{address}{changelist.get_query_string()}"
