"""`/v1/tasks/{id}/explain`: why a task is not running, in a sentence and as data."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import ledger
from scheduling.api.v1.base import ApiView
from scheduling.api.v1.representation import due, instant
from scheduling.api.v1.tasks import parsed_id, stored
from scheduling.ledger import Explanation, Why
from scheduling.models import Lease, Pause, Task, WorkerProcess
from scheduling.sentences import sentence
from tenants.models import Scope


class ExplainView(ApiView):
    """The first reason that a worker would meet. Of other tenants it tells no more than how many go first."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ}
    queried = ()

    def get(self, request: Request, task_id: str) -> Response:
        task = stored(parsed_id(task_id), self.caller.tenant)
        found = ledger.explain(task)
        host = worker(task) if self.caller.is_operator else None
        return Response(
            {
                "task_id": str(task.pk),
                "state": str(task.state),
                "why": found.why,
                "sentence": sentence(task, found, instant),
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
