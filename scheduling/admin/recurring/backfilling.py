"""Making up for instants that have passed without a task: the range, then what it would do, then the verb."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from scheduling import clock, ledger
from scheduling.admin.recurring.access import Act, require
from scheduling.admin.recurring.editing import page_of
from scheduling.admin.recurring.fields import Instant
from scheduling.admin.recurring.found import found
from scheduling.admin.recurring.record import record
from scheduling.admin.recurring.zoned import zone_called
from scheduling.admin.site import console
from scheduling.admin.words import exact
from scheduling.counts import counted
from scheduling.errors import InvalidTask, RentrollError
from scheduling.ledger import Backfilled
from scheduling.models import RecurringTask

INSTANTS_SHOWN = 12
USUAL = timedelta(days=1)
HOW = {
    "skip": "They are run one after the other, each when the one before is over.",
    "buffer_one": "They are run one after the other, each when the one before is over.",
    "cancel_other": "They are run one after the other, each when the one before is over; none is cancelled.",
    "allow": "They are made at once, and may run at the same time.",
}
"""By what the overlap policy is."""


class RangeForm(forms.Form):
    start = Instant(label="From", help_text="With its zone. Included.")
    end = Instant(label="To", help_text="Included.")

    def clean(self) -> dict[str, object]:
        for name in ("start", "end"):
            if name not in self.errors and self.cleaned_data.get(name) is None:
                self.add_error(name, "must be a date and time with a zone")
        return self.cleaned_data


def backfill_view(request: HttpRequest, pk: UUID) -> HttpResponse:
    """GET asks for the range, and shows what one would do; POST does it."""
    require(request, Act.BACKFILL)
    row = found(pk)
    given = request.POST if request.method == "POST" else request.GET
    form = RangeForm(given) if "start" in given else RangeForm(initial=_usual())
    would = _would(form, row) if form.is_valid() else None
    if request.method != "POST" or would is None:
        return _page(request, row, form, would)
    try:
        said = _backfill(request, row, form)
    except RentrollError as error:
        form.add_error(None, str(error))
        return _page(request, row, form, would)
    messages.success(request, said)
    return HttpResponseRedirect(page_of(row))


def _usual() -> dict[str, object]:
    now = clock.now().replace(second=0, microsecond=0)
    return {"start": now - USUAL, "end": now}


def _would(form: RangeForm, row: RecurringTask) -> Backfilled | None:
    """What it would do. None: the range is refused, which the form says."""
    asked = form.cleaned_data
    try:
        return ledger.backfill_preview(row.pk, asked["start"], asked["end"])
    except InvalidTask as error:
        for name, fault in error.errors.items():
            form.add_error(name if name in form.fields else None, fault)
    except RentrollError as error:
        form.add_error(None, str(error))
    return None


def _backfill(request: HttpRequest, row: RecurringTask, form: RangeForm) -> str:
    asked, reason = form.cleaned_data, request.POST.get("reason", "")
    note = f"{exact(asked['start'])} to {exact(asked['end'])}"

    def on_record(missing: Sequence[datetime]) -> None:
        record(request, Act.BACKFILL, row, reason=reason, done=len(missing), note=note)

    return said(ledger.backfill(row.pk, asked["start"], asked["end"], beside=on_record))


def said(done: Backfilled) -> str:
    """What became of it, in sentences."""
    told = [f"{counted(len(done.fired), 'task')} made."]
    if done.waiting:
        told.append(f"{counted(len(done.waiting), 'more')} will be made, each in its turn.")
    if done.left_alone:
        told.append(f"{counted(done.left_alone, 'instant')} had a task already.")
    if done.goes_on_from:
        told.append(f"The rest of the range, from {exact(done.goes_on_from)} on, was left.")
    return " ".join(told)


def _page(
    request: HttpRequest, row: RecurringTask, form: RangeForm, would: Backfilled | None
) -> TemplateResponse:
    context = console.each_context(request) | {
        "title": f"Backfill: {row.name}",
        "row": row,
        "form": form,
        "would": would,
        "how": HOW[row.overlap],
        "zone": zone_called(row.timezone),
        "reason": request.POST.get("reason", ""),
        "back": page_of(row),
    }
    if would:
        context["instants"] = would.missing[:INSTANTS_SHOWN]
        context["instants_left"] = len(would.missing[INSTANTS_SHOWN:])
    return TemplateResponse(request, "admin/recurring/backfill.html", context)
