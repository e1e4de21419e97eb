"""The form that changes when a waiting task is due, and its priority."""

from datetime import UTC, datetime
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from scheduling import clock
from scheduling.admin.audit import operator
from scheduling.admin.operations import Operation, put_on_record, rescheduled
from scheduling.admin.site import console
from scheduling.instants import FURTHEST
from scheduling.models import Task
from scheduling.options import PRIORITY_MAX, PRIORITY_MIN, REASON_LENGTH_MAX

TO_THE_SECOND = "%Y-%m-%dT%H:%M:%S"


class RescheduleForm(forms.Form):
    due_at = forms.DateTimeField(
        label="Due at (UTC)",
        input_formats=[TO_THE_SECOND, "%Y-%m-%dT%H:%M"],
        widget=forms.DateTimeInput({"type": "datetime-local", "step": "1"}, TO_THE_SECOND),
        help_text="An instant that has passed means now.",
    )
    priority = forms.IntegerField(
        min_value=PRIORITY_MIN,
        max_value=PRIORITY_MAX,
        help_text=f"{PRIORITY_MIN} to {PRIORITY_MAX}; higher goes first in its lane.",
    )
    reason = forms.CharField(
        max_length=REASON_LENGTH_MAX, required=False, help_text="For the record."
    )

    def clean_due_at(self) -> datetime:
        due_at: datetime = self.cleaned_data["due_at"]
        if due_at > clock.now() + FURTHEST:
            raise forms.ValidationError("That is more than five years ahead.")
        return due_at


def view(request: HttpRequest, task_id: UUID) -> HttpResponse:
    """The form; posted, the change, of what was changed in the form and of nothing else."""
    if not request.user.has_perm(Operation.RUN_NOW.permission):
        raise PermissionDenied
    task = Task.objects.select_related("tenant", "schedule").filter(pk=task_id).first()
    if task is None:
        raise Http404("There is no such task.")
    page = reverse("console:scheduling_task_change", args=[task_id])
    schedule = getattr(task, "schedule", None)
    if schedule is None:
        messages.warning(request, "It does not wait any more, so there is nothing to reschedule.")
        return HttpResponseRedirect(page)
    due_at = schedule.due_at.astimezone(UTC).replace(microsecond=0)
    initial = {"due_at": due_at, "priority": task.priority}
    posted = request.POST if request.method == "POST" else None
    form = RescheduleForm(posted, initial=initial)
    if form.is_valid():
        messages.info(request, _reschedule(task, form, request))
        return HttpResponseRedirect(page)
    context = console.each_context(request) | {
        "title": f"When is {task.name} due?",
        "task": task,
        "form": form,
        "back": page,
    }
    return TemplateResponse(request, "admin/reschedule.html", context)


def _reschedule(task: Task, form: RescheduleForm, request: HttpRequest) -> str:
    asked = form.cleaned_data
    changed = {name: asked[name] for name in ("due_at", "priority") if name in form.changed_data}
    with transaction.atomic():
        done = rescheduled([task], changed.get("due_at"), changed.get("priority"))
        put_on_record("reschedule", [task], done, operator(request), asked["reason"])
    return done.said
