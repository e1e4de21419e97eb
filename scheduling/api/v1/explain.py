"""`/v1/tasks/{id}/explain`: why a task is not running, in a sentence and as data."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import ledger
from scheduling.api.v1.base import ApiView
from scheduling.api.v1.representation import due, instant
from scheduling.api.v1.tasks import parsed_id, stored
from scheduling.ledger import Explanation, Why
from scheduling.ledger.explain import FURTHEST
from scheduling.models import Lease, Pause, Task, WorkerProcess
from scheduling.remote import is_remote
from scheduling.states import TaskState
from tenants.models import Scope


class ExplainView(ApiView):
    """The first reason that a worker would meet. Of other tenants it tells no more than how many go first."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ}

    def get(self, request: Request, task_id: str) -> Response:
        task = stored(parsed_id(task_id), self.caller.tenant)
        found = ledger.explain(task)
        host = worker(task) if self.caller.is_operator else None
        return Response(
            {
                "task_id": str(task.pk),
                "state": str(task.state),
                "why": found.why,
                "sentence": SENTENCES[found.why](task, found),
                "due_at": instant(due(task)),
                "deadline": instant(task.deadline),
                **numbers(task, found),
                **tenure(task),
                "worker": host,
            }
        )


def numbers(task: Task, found: Explanation) -> dict[str, Any]:
    is_placed = found.why in (Why.NEXT, Why.BEHIND_OTHERS)
    return {
        "paused_by": [shown(pause) for pause in found.pauses],
        "in_flight": found.in_flight,
        "max_in_flight": task.tenant.max_in_flight if found.why is Why.AT_CAP else None,
        "ahead_in_lane": found.ahead_in_lane if is_placed else None,
        "ahead_in_other_lanes": found.ahead_in_other_lanes if is_placed else None,
        "workers": found.workers if is_placed else None,
    }


def shown(pause: Pause) -> dict[str, Any]:
    """Not by whom: a tenant need not know who operates the installation."""
    return {
        "scope": pause.scope,
        "reason": pause.reason,
        "since": instant(pause.since),
        "expires_at": instant(pause.expires_at),
    }


def tenure(task: Task) -> dict[str, Any]:
    lease: Lease | None = getattr(task, "lease", None)
    return {
        "running_since": instant(lease.acquired_at) if lease else None,
        "leased_until": instant(lease.expires_at) if lease else None,
    }


def worker(task: Task) -> str | None:
    """`host:pid`, if the worker that runs it is on the register."""
    lease: Lease | None = getattr(task, "lease", None)
    registered = WorkerProcess.objects.filter(pk=lease.worker).first() if lease else None
    return str(registered) if registered else None


def finished(task: Task) -> str:
    if task.state == TaskState.DEAD:
        return f"It is a dead letter: {str(task.dead_reason).replace('_', ' ')}."
    return "It was cancelled." if task.state == TaskState.CANCELLED else "It has succeeded."


def told(pause: Pause) -> str:
    return f"{pause.scope} is paused" + (f" ({pause.reason})" if pause.reason else "")


def behind(found: Explanation) -> str:
    own, others = found.ahead_in_lane, found.ahead_in_other_lanes
    at_least = "At least " if own + others >= FURTHEST else ""
    return (
        f"{at_least}{own + others} tasks are served before it:"
        f" {own} in its own lane, {others} in other lanes."
    )


def at_cap(task: Task, found: Explanation) -> str:
    cap = task.tenant.max_in_flight
    return f"Its tenant has {found.in_flight} in flight, and may have {cap}."


def first_in_line(task: Task, found: Explanation) -> str:
    if is_remote(task.queue):
        return "It is next: the first remote worker that asks for its queue takes it."
    if found.workers:
        return "It is next: the first worker that has a free slot takes it."
    return "It is next, and no worker process that serves its queue is alive."


SENTENCES: Mapping[Why, Callable[[Task, Explanation], str]] = {
    Why.FINISHED: lambda task, _: finished(task),
    Why.RUNNING: lambda task, _: (
        f"It is running, attempt {task.attempts + 1} of {task.max_attempts}."
    ),
    Why.NOT_DUE: lambda task, _: f"It is not due until {instant(due(task))}.",
    Why.PAUSED: lambda _, found: f"The kill switch holds it: {', '.join(map(told, found.pauses))}.",
    Why.DEADLINE_PASSED: lambda task, _: (
        f"Its deadline {instant(task.deadline)} has passed, so it will not run."
    ),
    Why.AT_CAP: at_cap,
    Why.BEING_READIED: lambda *_: (
        "Nothing holds it any more: it is ready from a worker's next look on."
    ),
    Why.BEHIND_OTHERS: lambda _, found: behind(found),
    Why.NEXT: first_in_line,
}
