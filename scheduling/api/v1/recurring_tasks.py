"""`/v1/recurring-tasks`: create, list, look, edit, delete, pause, resume."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.db import transaction
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import audit, ledger
from scheduling.api.v1 import recurring_shown as shown
from scheduling.api.v1.base import ApiView
from scheduling.api.v1.conditional import is_known, tag_of, version_meant
from scheduling.api.v1.recurring_body import changes_of, new_recurring
from scheduling.api.v1.recurring_pages import recurring_page
from scheduling.api.v1.recurring_serializers import RecurringFilter
from scheduling.api.v1.serializers import Why, parsed
from scheduling.api.v1.tenancy import owner_meant, tenant_meant
from scheduling.errors import RentrollError, UnknownRecurring
from scheduling.models import OperatorAction, RecurringTask
from scheduling.models.recurring import RecurringTaskQuerySet
from tenants.models import Scope, Tenant


class RecurringView(ApiView):
    """What the views of recurring tasks share."""

    def found(self, recurring_task_id: str) -> RecurringTask:
        """Raises UnknownRecurring, also for one of another tenant."""
        return stored(recurring_task_id, self.caller.tenant)

    def answer(self, row: RecurringTask, status: int = 200, **headers: str) -> Response:
        """With its entity tag; nothing else, for a client that has just that already."""
        told = shown.detail(row, caller=self.caller)
        tag = tag_of(row.version, told)
        if self.request.method in ("GET", "HEAD") and is_known(self.request, tag):
            return Response(status=304, headers={"ETag": tag})
        return Response(told, status=status, headers={"ETag": tag, **headers})

    def record_one(
        self, verb: str, row: RecurringTask, *, done: int = 1, **told: Any
    ) -> OperatorAction:
        return self.record(verb, f"recurring task {row.name}", tenant=row.tenant, done=done, **told)


class RecurringTasksView(RecurringView):
    """The list of recurring tasks, and where new ones come from."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ, "POST": Scope.ENQUEUE}
    instead_of_a_key = "no two recurring tasks of a tenant have one name"

    def post(self, request: Request) -> Response:
        body = self.json_object()
        owner = owner_meant(self.caller, body.get("tenant"))
        with transaction.atomic():
            row = ledger.create_recurring(new_recurring(body, owner))
            self.record_one("create", row)
        row.tenant = owner
        return self.answer(row, 201, Location=reverse("rentroll:recurring-task", args=[row.pk]))

    def get(self, request: Request) -> Response:
        asked = parsed(RecurringFilter, self.query())
        tenant = tenant_meant(self.caller, asked.pop("tenant", None))
        cursor, limit = asked.pop("cursor", None), asked.pop("limit")
        wanted = readable(tenant).defer("payload", "declaration").filter(**asked)
        found = recurring_page(wanted, cursor=cursor, limit=limit)
        rows = [shown.summary(row, caller=self.caller) for row in found.rows]
        return Response({"recurring_tasks": rows, "next": found.next_address(request._request)})


class RecurringTaskView(RecurringView):
    """One recurring task. Whoever edits it says which edition was seen, so that nobody's edit is lost."""

    scopes: ClassVar[Mapping[str, Scope]] = {
        "GET": Scope.READ,
        "PATCH": Scope.CONTROL,
        "DELETE": Scope.CONTROL,
    }
    queried = ()

    def get(self, request: Request, recurring_task_id: str) -> Response:
        return self.answer(self.found(recurring_task_id))

    def patch(self, request: Request, recurring_task_id: str) -> Response:
        row = self.found(recurring_task_id)
        version = version_meant(request, row.version, needed=True)
        changes = changes_of(self.json_object(), row)
        record = partial(self.record_one, "edit", note=", ".join(sorted(changes)))
        edited = ledger.edit_recurring(row.pk, changes, version=version, beside=record)
        return self.answer(edited)

    def delete(self, request: Request, recurring_task_id: str) -> Response:
        row = self.found(recurring_task_id)
        version = version_meant(request, row.version, needed=False)
        # Its ticks may be many, and go in several transactions, so the entry is made before.
        entry = self.record_one("delete", row, done=0)
        try:
            ledger.delete_recurring(row.pk, version=version)
        except RentrollError:
            audit.add(entry, done=0, refused=1)
            raise
        audit.add(entry, done=1, refused=0)
        return Response(status=204)


class SwitchView(RecurringView):
    """One recurring task is paused or resumed. What comes due meanwhile is missed, and accounted for as that."""

    paused: ClassVar[bool]
    scopes: ClassVar[Mapping[str, Scope]] = {"POST": Scope.CONTROL}

    def post(self, request: Request, recurring_task_id: str) -> Response:
        row = self.found(recurring_task_id)
        version = version_meant(request, row.version, needed=False)
        reason = parsed(Why, self.json_object_if_any())["reason"]
        with transaction.atomic():
            done = ledger.pause_recurring(row.pk, self.paused, reason=reason, version=version)
            self.record_one("pause" if self.paused else "resume", row, reason=reason)
        return self.answer(done)


class PauseView(SwitchView):
    paused = True


class ResumeView(SwitchView):
    paused = False


def readable(tenant: Tenant | None) -> RecurringTaskQuerySet:
    """The recurring tasks of a tenant, or all of them, with what their representation needs."""
    return RecurringTask.objects.of(tenant).select_related("tenant")


def stored(recurring_task_id: str, tenant: Tenant | None) -> RecurringTask:
    """Raises UnknownRecurring, also for one of another tenant and for what is no id."""
    try:
        parsed_id = UUID(recurring_task_id)
    except ValueError:
        raise UnknownRecurring(recurring_task_id) from None
    row = readable(tenant).filter(pk=parsed_id).first()
    if row is None:
        raise UnknownRecurring(parsed_id)
    return row
