"""The pages of a sweep: first what it would be done to, then how far it has got, step by step."""

from copy import copy
from typing import TYPE_CHECKING, cast

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    QueryDict,
)
from django.template.response import TemplateResponse
from django.urls import reverse

from scheduling import clock
from scheduling.admin import sweep
from scheduling.admin.audit import operator
from scheduling.admin.operations import Operation
from scheduling.admin.site import console
from scheduling.models import Sweep

if TYPE_CHECKING:
    from scheduling.admin.deadletters import DeadLetterAdmin, DeadLetterChangeList

SAMPLE = 10
MOST_PER_SECOND = 1000


class SweepForm(forms.Form):
    reason = forms.CharField(max_length=500, required=False, help_text="For the record.")
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
    changelist = _changelist(letters, request)
    form = SweepForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        begun = sweep.begin(
            operation,
            changelist.found,
            which=changelist.which,
            filters=changelist.filters,
            by=operator(request),
            now=clock.now(),
            **form.cleaned_data,
        )
        return HttpResponseRedirect(page_of(begun))
    if operation is not Operation.REDRIVE:
        del form.fields["per_second"]
    context = console.each_context(request) | {
        "title": f"{operation.label} all that match?",
        "operation": operation,
        "form": form,
        "which": changelist.which,
        "matching": changelist.found.matching(),
        "groups": changelist.found.groups(),
        "sample": changelist.found.sample(SAMPLE),
        "back": _list(changelist.filters),
    }
    return TemplateResponse(request, "admin/confirm_sweep.html", context)


def sweep_view(request: HttpRequest, sweep_id: int, letters: "DeadLetterAdmin") -> HttpResponse:
    """GET shows how far it has got, POST takes the next step. Whoever may do the like may go on with it."""
    standing = _standing(sweep_id)
    _require(request, Operation(standing.operation))
    if request.method == "POST":
        asked = copy(request)
        asked.GET = QueryDict(standing.filters)
        found = _changelist(letters, asked).found
        standing = sweep.step(sweep_id, found, clock.now())
        if "HX-Request" not in request.headers:
            return HttpResponseRedirect(page_of(standing))
    is_part = "HX-Request" in request.headers
    context = ({} if is_part else console.each_context(request)) | {
        "title": f"{Operation(standing.operation).label}: {standing.which}",
        "sweep": standing,
        "told": sweep.told(standing),
        "is_under_way": standing.state == Sweep.State.UNDER_WAY,
        "back": _list(standing.filters),
        "now": clock.now(),
    }
    template = "admin/sweep_progress.html" if is_part else "admin/sweep.html"
    return TemplateResponse(request, template, context)


def cancel_view(request: HttpRequest, sweep_id: int) -> HttpResponse:
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    standing = _standing(sweep_id)
    _require(request, Operation(standing.operation))
    return HttpResponseRedirect(page_of(sweep.cancel(sweep_id, operator(request))))


def page_of(standing: Sweep) -> str:
    return reverse("admin:scheduling_deadletter_sweep", args=[standing.pk])


def _standing(sweep_id: int) -> Sweep:
    standing = Sweep.objects.filter(pk=sweep_id).first()
    if standing is None:
        raise Http404("There is no such sweep.")
    return standing


def _require(request: HttpRequest, operation: Operation) -> None:
    if not cast("User", request.user).has_perm(operation.permission):
        raise PermissionDenied


def _changelist(letters: "DeadLetterAdmin", request: HttpRequest) -> "DeadLetterChangeList":
    return cast("DeadLetterChangeList", letters.get_changelist_instance(request))


def _list(filters: str) -> str:
    address = reverse("admin:scheduling_deadletter_changelist")
    return f"{address}?{filters}" if filters else address
