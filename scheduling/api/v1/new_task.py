"""Owns how the body of `POST /v1/tasks` becomes a task, and what is answered to it."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.request import Request

from scheduling import enqueueing, tracing
from scheduling.errors import InvalidTask
from scheduling.ledger.values import NewTask
from scheduling.making import task_meant
from scheduling.models import Schedule, Task
from tenants.models import Tenant

OPTIONS = (
    "queue",
    "priority",
    "due_at",
    "delay_seconds",
    "max_attempts",
    "timeout_seconds",
    "deadline",
    "label",
)
FIELDS = frozenset({"name", "payload", "tenant", *OPTIONS})


def new_task(
    body: Mapping[str, Any],
    owner: Tenant,
    idempotency_key: str | None,
    trace_context: str | None = None,
) -> NewTask:
    """The task that the body asks for. Raises InvalidTask naming the fields at fault."""
    if unknown := body.keys() - FIELDS:
        raise InvalidTask(dict.fromkeys(sorted(unknown), "is not a field of a task"))
    task, payload = task_meant(body.get("name"), body.get("queue")), body.get("payload", {})
    if not isinstance(payload, dict):
        raise InvalidTask({"payload": "must be an object"})
    return enqueueing.new_task(
        task,
        (),
        payload,
        tenant_id=owner.pk,
        idempotency_key=idempotency_key,
        trace_context=trace_context,
        **{option: body.get(option) for option in OPTIONS},
    )


def trace_context(request: Request) -> str | None:
    """The span that is current here, where requests are traced; else that of the client. What is invalid counts as none."""
    return tracing.current() or tracing.valid(request.META.get("HTTP_TRACEPARENT"))


def as_stored(new: NewTask, owner: Tenant, task_id: UUID, created_at: datetime) -> Task:
    """The rows as they are on disk now, without reading them back."""
    task = Task(
        id=task_id,
        tenant=owner,
        name=new.name,
        queue=new.queue,
        kwargs=json.loads(new.kwargs_json),
        priority=new.priority,
        max_attempts=new.max_attempts,
        idempotency_key=new.idempotency_key,
        label=new.label,
        created_at=created_at,
    )
    task.schedule = Schedule(task=task, due_at=new.due_at or created_at)
    return task
