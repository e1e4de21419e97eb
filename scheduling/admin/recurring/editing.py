"""Creating and editing recurring tasks, and the preview that follows as one types."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from scheduling import clock, ledger
from scheduling.admin.recurring.access import Act, require, require_look
from scheduling.admin.recurring.form import RecurringForm, RuleForm
from scheduling.admin.recurring.found import found
from scheduling.admin.recurring.preview import preview
from scheduling.admin.recurring.record import record
from scheduling.admin.site import console
from scheduling.declaring import registry
from scheduling.errors import Changed, NameTaken, TooManyRecurring
from scheduling.ledger.recurring.form import EDITABLE
from scheduling.models import RecurringTask
from scheduling.recurrence import zones
from tenants.forms import known_tenants
from tenants.models import Tenant

SHOWN = 60
"""Characters of a value that two people have changed."""


def add_view(request: HttpRequest) -> HttpResponse:
    require(request, Act.CREATE)
    if request.method != "POST":
        return _form_page(request, RecurringForm(initial=request.GET.dict()))
    form = RecurringForm(request.POST)
    row = _create(request, form) if form.is_valid() else None
    if row is None:
        return _form_page(request, form)
    messages.success(request, f"Created {row.name}.")
    return HttpResponseRedirect(page_of(row))


def edit_view(request: HttpRequest, pk: UUID) -> HttpResponse:
    require(request, Act.EDIT)
    row = found(pk)
    if request.method != "POST":
        return _form_page(request, RecurringForm(row=row))
    form = RecurringForm(request.POST, row=row)
    if not form.is_valid():
        return _form_page(request, form)
    try:
        edited = _edit(request, form, row)
    except Changed:
        return _form_page(request, form, meanwhile=found(pk))
    except NameTaken as error:
        form.add_error("name", str(error))
        return _form_page(request, form)
    messages.success(request, f"Changed {edited.name}.")
    return HttpResponseRedirect(page_of(edited))


@require_GET
def preview_view(request: HttpRequest) -> HttpResponse:
    """The part of the form that follows as one types: instants, the rule in words, and what is wrong with it."""
    require_look(request)
    return TemplateResponse(
        request,
        "admin/recurring/preview.html",
        preview_of(RuleForm(request.GET)) | {"is_live": True},
    )


def preview_of(form: RuleForm) -> dict[str, Any]:
    """For its template. Of a form in which nothing was typed yet, nothing is said."""
    context: dict[str, Any] = {"now": clock.now()}
    if not any(form.data.get(name) for name in ("cron", "every_seconds")):
        return context | {"faults": [(name, None) for name in RuleForm.base_fields]}
    if form.is_valid() and form.rule:
        context["preview"] = preview(form.rule, context["now"])
    return context | {"faults": form.rule_faults, "is_refused": not form.is_valid()}


def page_of(row: RecurringTask) -> str:
    return reverse("console:scheduling_recurringtask_change", args=[row.pk])


def _create(request: HttpRequest, form: RecurringForm) -> RecurringTask | None:
    """None when the tenant has one of that name, or no place for another."""
    owner: Tenant = form.cleaned_data["tenant"]
    asked = {name: value for name, value in form.asked.items() if name in EDITABLE}
    try:
        with transaction.atomic():
            row = ledger.create_recurring(ledger.NewRecurring(tenant_id=owner.pk, **asked))
            row.tenant = owner
            record(request, Act.CREATE, row)
    except NameTaken as error:
        form.add_error("name", str(error))
        return None
    except TooManyRecurring as error:
        form.add_error("tenant", str(error))
        return None
    return row


def _edit(request: HttpRequest, form: RecurringForm, row: RecurringTask) -> RecurringTask:
    """Raises Changed, or NameTaken."""
    version = form.cleaned_data["version"] or 0

    def on_record(edited: RecurringTask) -> None:
        changed = sorted(name for name in EDITABLE if getattr(row, name) != getattr(edited, name))
        record(request, Act.EDIT, edited, note=", ".join(changed))

    return ledger.edit_recurring(row.pk, form.asked, version=version, beside=on_record)


def _form_page(
    request: HttpRequest, form: RecurringForm, *, meanwhile: RecurringTask | None = None
) -> TemplateResponse:
    """`meanwhile` is what somebody else has made of it: saving again then replaces that."""
    row = form.row
    context = console.each_context(request) | {
        "title": f"Edit {row.name}" if row else "New recurring task",
        "form": form,
        "row": row,
        "known_tenants": known_tenants(),
        "known_tasks": registry.names(),
        "known_zones": zones.names(),
        **preview_of(_rule_of(form)),
    }
    if meanwhile:
        context |= {"meanwhile": meanwhile, "differences": _differences(form, meanwhile)}
    return TemplateResponse(request, "admin/recurring/form.html", context)


def _rule_of(form: RecurringForm) -> RuleForm:
    """What the form is showing, as it was typed or as it would be."""
    return RuleForm(
        {name: form[name].value() or "" for name in RuleForm.base_fields},
    )


def _differences(form: RecurringForm, meanwhile: RecurringTask) -> list[tuple[str, str, str]]:
    """(field, what stands in the form, what it is now)."""
    now = RecurringForm(row=meanwhile)
    found = []
    for group in form.groups:
        for field in group.fields:
            mine, theirs = field.value() or "", now[field.name].value() or ""
            if str(mine).split() != str(theirs).split():
                found.append((str(field.label), str(mine)[:SHOWN], str(theirs)[:SHOWN]))
    return found
