"""What is done to one recurring task by hand: first the question whether it is meant, then the verb of the ledger."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scheduling import audit, ledger
from scheduling.admin.recurring.access import Act, require
from scheduling.admin.recurring.editing import page_of
from scheduling.admin.recurring.found import found
from scheduling.admin.recurring.record import record
from scheduling.admin.site import console
from scheduling.errors import LimitExceeded, Overlapping, RentrollError
from scheduling.models import RecurringTask
from scheduling.policies import Overlap

WARNINGS = {
    Act.PAUSE: "Ticks that come while it is paused make no task, then or later. What it has made already goes on.",
    Act.RESUME: "It goes on with the next tick of its rule, and counts its failures anew. What came meanwhile was missed.",
    Act.RUN_NOW: "One task is made at once, beside the ticks of its rule, which it does not shift.",
    Act.DELETE: "It is deleted with its ticks. The tasks that it made stay. This cannot be undone.",
}
Verb = Callable[[HttpRequest, RecurringTask, str], SafeString | str]
"""Does it, puts it on record, and says what was done. Raises RentrollError."""


def pause_view(request: HttpRequest, pk: UUID) -> HttpResponse:
    return _act(request, pk, Act.PAUSE, _pause)


def resume_view(request: HttpRequest, pk: UUID) -> HttpResponse:
    return _act(request, pk, Act.RESUME, _resume)


def run_view(request: HttpRequest, pk: UUID) -> HttpResponse:
    return _act(request, pk, Act.RUN_NOW, _run)


def delete_view(request: HttpRequest, pk: UUID) -> HttpResponse:
    return _act(request, pk, Act.DELETE, _delete)


def _act(request: HttpRequest, pk: UUID, act: Act, verb: Verb) -> HttpResponse:
    """GET asks, POST does it. What the ledger refuses is told on the page that asks."""
    require(request, act)
    row = found(pk)
    if request.method != "POST":
        return _ask(request, row, act)
    try:
        said = verb(request, row, request.POST.get("reason", "").replace("\x00", "")[:500])
    except RentrollError as error:
        return _ask(request, row, act, refusal=str(error))
    messages.success(request, said)
    gone = act is Act.DELETE
    to = reverse("console:scheduling_recurringtask_changelist") if gone else page_of(row)
    return HttpResponseRedirect(to)


def _ask(
    request: HttpRequest, row: RecurringTask, act: Act, *, refusal: str = ""
) -> TemplateResponse:
    context = console.each_context(request) | {
        "title": f"{act.capitalize()}: {row.name}?",
        "act": act,
        "is_dangerous": act is Act.DELETE,
        "warning": WARNINGS[act],
        "refusal": refusal,
        "row": row,
        "reason": request.POST.get("reason", ""),
        "back": page_of(row),
    }
    return TemplateResponse(request, "admin/recurring/ask.html", context)


def _pause(request: HttpRequest, row: RecurringTask, reason: str) -> str:
    with transaction.atomic():
        ledger.pause_recurring(row.pk, paused=True, reason=reason)
        record(request, Act.PAUSE, row, reason=reason)
    return f"Paused {row.name}."


def _resume(request: HttpRequest, row: RecurringTask, reason: str) -> str:
    with transaction.atomic():
        ledger.pause_recurring(row.pk, paused=False, reason=reason)
        record(request, Act.RESUME, row, reason=reason)
    return f"Resumed {row.name}."


def _run(request: HttpRequest, row: RecurringTask, reason: str) -> SafeString:
    def on_record(made: UUID) -> None:
        record(request, Act.RUN_NOW, row, reason=reason, tasks=[made])

    try:
        task_id = ledger.run_now(row.pk, beside=on_record)
    except (Overlapping, LimitExceeded) as error:
        # What was in the way is asked to stop all the same.
        if row.overlap == Overlap.CANCEL_OTHER:
            record(request, Act.RUN_NOW, row, done=0, refused=1, reason=reason, note=str(error))
        raise
    address = reverse("console:scheduling_task_change", args=[task_id])
    return format_html('Made <a href="{}">task {}</a>.', address, task_id)


def _delete(request: HttpRequest, row: RecurringTask, reason: str) -> str:
    """Its ticks may be many, and go in several transactions, so the entry is made before."""
    entry = record(request, Act.DELETE, row, done=0, reason=reason)
    try:
        ledger.delete_recurring(row.pk)
    except RentrollError:
        audit.add(entry, done=0, refused=1)
        raise
    audit.add(entry, done=1, refused=0)
    return f"Deleted {row.name}."
