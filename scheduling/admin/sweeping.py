"""The pages of a sweep: first what it would be done to, then how far the workers have got with it."""

from typing import TYPE_CHECKING

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import reverse

from scheduling import clock, sweeps
from scheduling.admin.audit import operator
from scheduling.admin.operations import Operation, allowed
from scheduling.admin.site import console
from scheduling.models import Sweep, WorkerProcess
from scheduling.options import REASON_LENGTH_MAX

if TYPE_CHECKING:
    from scheduling.admin.deadletters import DeadLetterAdmin

SAMPLE = 10
MOST_PER_SECOND = 1000


class SweepForm(forms.Form):
    reason = forms.CharField(
        max_length=REASON_LENGTH_MAX, required=False, help_text="For the record."
    )
    per_second = forms.FloatField(
        label="At most per second",
        required=False,
        min_value=0.01,
        max_value=MOST_PER_SECOND,
        help_text="Empty: as fast as it goes. With a rate, what hurts again can be stopped early.",
    )


def ask_view(
    request: HttpRequest, operation: Operation, letters: "DeadLetterAdmin"
) -> HttpResponse:
    """GET shows what matches, POST begins. The filters are in the address."""
    _require(request, operation)
    changelist = letters.matching(request)
    matching = changelist.found.matching()
    form = SweepForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and matching.count and form.is_valid():
        begun = sweeps.begin(
            Sweep.Operation(operation),
            changelist.asked,
            which=changelist.which,
            address=changelist.filters,
            by=operator(request),
            **form.cleaned_data,
        )
        return HttpResponseRedirect(page_of(begun.pk))
    if operation is not Operation.REDRIVE:
        del form.fields["per_second"]
    context = console.each_context(request) | {
        "title": f"{operation.label} all that match?",
        "operation": operation,
        "form": form,
        "which": changelist.which,
        "matching": matching,
        "groups": changelist.found.groups(),
        "sample": changelist.found.sample(SAMPLE),
        "back": _list(changelist.filters),
    }
    return TemplateResponse(request, "admin/confirm_sweep.html", context)


def sweep_view(request: HttpRequest, sweep_id: int) -> HttpResponse:
    """How far it has got; as a part for its page to keep fresh."""
    standing = _standing(sweep_id)
    operation = Operation(standing.operation)
    _require(request, operation)
    is_part, now = "HX-Request" in request.headers, clock.now()
    is_under_way = standing.state == Sweep.State.UNDER_WAY
    context = ({} if is_part else console.each_context(request)) | {
        "title": f"{operation.label}: {standing.which}",
        "sweep": standing,
        "told": sweeps.told(standing),
        "is_under_way": is_under_way,
        "is_stuck": is_under_way and not WorkerProcess.objects.alive(now).exists(),
        "back": _list(standing.filters),
        "now": now,
    }
    template = "admin/sweep_progress.html" if is_part else "admin/sweep.html"
    return TemplateResponse(request, template, context)


def cancel_view(request: HttpRequest, sweep_id: int) -> HttpResponse:
    """Whoever may do the like may end it."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    _require(request, Operation(_standing(sweep_id).operation))
    sweeps.cancel(sweep_id, operator(request))
    return HttpResponseRedirect(page_of(sweep_id))


def page_of(sweep_id: int) -> str:
    return reverse("console:scheduling_deadletter_sweep", args=[sweep_id])


def _standing(sweep_id: int) -> Sweep:
    standing = Sweep.objects.filter(pk=sweep_id).first()
    if standing is None:
        raise Http404("There is no such sweep. Those that are over are pruned after a while.")
    return standing


def _require(request: HttpRequest, operation: Operation) -> None:
    if not allowed(request.user, [operation]):
        raise PermissionDenied


def _list(filters: str) -> str:
    address = reverse("console:scheduling_deadletter_changelist")
    return f"{address}?{filters}" if filters else address
