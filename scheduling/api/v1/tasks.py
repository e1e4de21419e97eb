"""`/v1/tasks`: enqueue, list, look, cancel, redrive."""

from collections.abc import Mapping
from typing import ClassVar
from uuid import UUID

from django.db import transaction
from django.utils.encoding import escape_uri_path
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import clock, ledger
from scheduling.api.v1 import idempotency, rate
from scheduling.api.v1.base import ApiView
from scheduling.api.v1.entrance import REPLAYED, enqueue
from scheduling.api.v1.new_task import as_stored, new_task, trace_context
from scheduling.api.v1.pagination import further_on
from scheduling.api.v1.representation import detail, history, progress, summary
from scheduling.api.v1.serializers import TaskFilter, Waiting, Why, parsed
from scheduling.api.v1.tenancy import owner_meant, tenant_meant
from scheduling.api.v1.until_over import watch
from scheduling.api.v1.waiting import seats
from scheduling.errors import UnknownTask, WrongState
from scheduling.lists.narrowing import narrowed
from scheduling.lists.paging import page
from scheduling.models import Task
from scheduling.models.task import TaskQuerySet
from scheduling.states import TaskState
from tenants.models import Scope, Tenant

ATTEMPTS_SHOWN = 100
"""The newest ones. A task that snoozes for ever has more than anybody reads."""


class TasksView(ApiView):
    """The list of tasks, and the way in."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ, "POST": Scope.ENQUEUE}
    keyed = ("POST",)

    def post(self, request: Request) -> Response:
        key = idempotency.key_from(request.META.get("HTTP_IDEMPOTENCY_KEY"))
        body = self.json_object()
        owner = owner_meant(self.caller, body.get("tenant"))
        new = new_task(body, owner, key, trace_context(request))
        [accepted] = enqueue([new])
        if accepted.created_at is None:
            fields = rate.fields(owner.pk, spent=0)
            return self.answer(stored(accepted.task_id, owner), 200, REPLAYED | fields)
        task = as_stored(new, owner, accepted.task_id, accepted.created_at)
        return self.answer(task, 201, rate.fields(owner.pk, spent=1))

    def answer(self, task: Task, status: int, headers: Mapping[str, str]) -> Response:
        shown = detail(task, caller=self.caller, now=clock.now())
        location = f"{escape_uri_path(self.request.path)}/{task.id}"
        return Response(shown, status=status, headers={"Location": location, **headers})

    def get(self, request: Request) -> Response:
        asked = parsed(TaskFilter, self.query())
        tenant = tenant_meant(self.caller, asked.pop("tenant", None))
        cursor, limit = asked.pop("cursor", None), asked.pop("limit")
        now = clock.now()
        wanted = narrowed(readable(tenant).without_blobs(), asked, now, tenant=tenant)
        found = page(wanted.step, cursor=cursor, limit=limit)
        shown = [summary(task, caller=self.caller, now=now) for task in found.tasks]
        cursor = found.next_cursor
        following = further_on(request._request, "cursor", str(cursor)) if cursor else None
        return Response({"tasks": shown, "next": following})


class TaskView(ApiView):
    """One task, with what happened to it; at once, or when it is over."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ}

    def get(self, request: Request, task_id: str) -> Response:
        seconds = parsed(Waiting, self.query())["wait"]
        task = stored(parsed_id(task_id), self.caller.tenant)
        if seconds and not task.is_terminal:
            with seats.one_for(self.caller.tenant) as is_free:
                if is_free:
                    watch.until_over(task.pk, seconds, request.META)
            task = stored(task.pk, self.caller.tenant)
        attempts = list(task.history.order_by("-generation")[:ATTEMPTS_SHOWN])
        shown = detail(task, caller=self.caller, now=clock.now())
        under_way = {"progress": progress(task), "attempts": history(reversed(attempts))}
        return Response(shown | under_way)


class OneTaskView(ApiView):
    """What is done to one task, and can be asked for by a reason."""

    def record_one(self, verb: str, task: Task, *, reason: str, done: bool) -> None:
        self.record(
            verb,
            str(task),
            tenant=task.tenant,
            tasks=[task.pk],
            reason=reason,
            done=int(done),
            refused=int(not done),
        )


class CancelView(OneTaskView):
    """Queued: it will not run. Running: it is asked to stop."""

    scopes: ClassVar[Mapping[str, Scope]] = {"POST": Scope.ENQUEUE}

    def post(self, request: Request, task_id: str) -> Response:
        reason = parsed(Why, self.json_object_if_any())["reason"]
        visible = visible_id(task_id, self.caller.tenant)
        with transaction.atomic():
            [done] = ledger.cancel([visible])
            task = stored(visible, self.caller.tenant)
            if self.caller.is_operator or reason:
                self.record_one("cancel", task, reason=reason, done=done.requested)
        if not done.requested:
            raise WrongState(visible, task.state, "cancelled")
        status = 200 if done.state is TaskState.CANCELLED else 202
        return Response(detail(task, caller=self.caller, now=clock.now()), status=status)


class RedriveView(OneTaskView):
    """A dead letter is queued again, with a fresh allowance."""

    scopes: ClassVar[Mapping[str, Scope]] = {"POST": Scope.CONTROL}

    def post(self, request: Request, task_id: str) -> Response:
        reason = parsed(Why, self.json_object_if_any())["reason"]
        visible = visible_id(task_id, self.caller.tenant)
        with transaction.atomic():
            redriven = ledger.redrive([visible])
            task = stored(visible, self.caller.tenant)
            self.record_one("redrive", task, reason=reason, done=bool(redriven))
        if not redriven:
            raise WrongState(visible, task.state, "redriven")
        return Response(detail(task, caller=self.caller, now=clock.now()))


def readable(tenant: Tenant | None) -> TaskQuerySet:
    """The tasks of a tenant, or all of them, with what their representation needs."""
    return Task.objects.of(tenant).select_related("tenant", "schedule", "lease")


def stored(task_id: UUID, tenant: Tenant | None) -> Task:
    """Raises UnknownTask, also for a task of another tenant."""
    task = readable(tenant).filter(pk=task_id).first()
    if task is None:
        raise UnknownTask(task_id)
    return task


def parsed_id(text: str) -> UUID:
    """Raises UnknownTask for what no task can be called."""
    try:
        return UUID(text)
    except ValueError:
        raise UnknownTask(text) from None


def visible_id(task_id: str, tenant: Tenant | None) -> UUID:
    """The id of a task that the tenant may act on; tasks never change hands. Raises UnknownTask."""
    parsed = parsed_id(task_id)
    if not Task.objects.of(tenant).filter(pk=parsed).exists():
        raise UnknownTask(parsed)
    return parsed
