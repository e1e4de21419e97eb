"""Tasks picked by hand: first the question whether it is meant, then the operation."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from scheduling.admin.audit import operator
from scheduling.admin.operations import Operation, perform
from scheduling.admin.site import console
from scheduling.counts import counted
from scheduling.models import Task

MOST_AT_ONCE = 500


def ask(
    request: HttpRequest, operation: Operation, picked: QuerySet[Task], back: str
) -> TemplateResponse:
    """The page that asks. It posts to `operate`, and returns to the address `back`."""
    tasks = _read(picked)
    context = console.each_context(request) | {
        "title": f"{operation.label} {counted(len(tasks), 'task')}?",
        "operation": operation,
        "tasks": tasks,
        "back": back,
    }
    return TemplateResponse(request, "admin/confirm_selection.html", context)


def operate(request: HttpRequest, operation: Operation) -> HttpResponse:
    """Do it to the tasks that were posted, once it was confirmed."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if not request.user.has_perm(operation.permission):
        raise PermissionDenied
    picked, back = _picked(request), _back(request)
    if "confirmed" not in request.POST:
        return ask(request, operation, picked, back)
    reason = request.POST.get("reason", "").strip()
    messages.info(request, perform(operation, _read(picked), operator(request), reason))
    return HttpResponseRedirect(back)


def _picked(request: HttpRequest) -> QuerySet[Task]:
    """The tasks that were posted. Those that are gone by now are left out."""
    try:
        ids = [UUID(value) for value in request.POST.getlist("task")]
    except ValueError as error:
        raise BadRequest("A task's id is a UUID.") from error
    return Task.objects.without_blobs().filter(pk__in=ids).order_by("-pk")


def _read(picked: QuerySet[Task]) -> list[Task]:
    tasks = list(picked.select_related("tenant")[: MOST_AT_ONCE + 1])
    if len(tasks) > MOST_AT_ONCE:
        raise BadRequest(f"At most {MOST_AT_ONCE} tasks can be picked at once.")
    return tasks


def _back(request: HttpRequest) -> str:
    address = request.POST.get("back", "")
    if url_has_allowed_host_and_scheme(address, allowed_hosts={request.get_host()}):
        return address
    return reverse("console:scheduling_task_changelist")
