"""`/v1/tasks/batch`: many tasks in one transaction, all of them or none."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from scheduling.api.v1 import rate
from scheduling.api.v1.base import ApiView
from scheduling.api.v1.entrance import REPLAYED, enqueue
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.new_task import new_task, trace_context
from scheduling.api.v1.problems import Refused, problem_of
from scheduling.api.v1.serializers import LARGEST_BATCH
from scheduling.api.v1.tenancy import owner_meant
from scheduling.errors import IdempotencyMismatch, InvalidTask
from scheduling.ledger import NewTask
from tenants.authentication import Caller
from tenants.models import Scope, Tenant


class BatchView(ApiView):
    """Up to a thousand tasks at the cost of one commit. Each may have an idempotency key of its own."""

    scopes: ClassVar[Mapping[str, Scope]] = {"POST": Scope.ENQUEUE}
    instead_of_a_key = "each task of a batch has an `idempotency_key` of its own"

    def post(self, request: Request) -> Response:
        tasks = new_tasks(bodies_in(self.json_object()), self.caller, trace_context(request))
        try:
            accepted = enqueue(tasks)
        except IdempotencyMismatch as error:
            raise telling_places(error, tasks) from error
        shown = [{"id": str(one.task_id), "replayed": one.replayed} for one in accepted]
        new = sum(not one.replayed for one in accepted)
        fields = rate.fields(self.caller.tenant.pk, spent=new) if self.caller.tenant else {}
        if not new:
            return Response({"tasks": shown}, headers=REPLAYED | fields)
        return Response({"tasks": shown}, status=201, headers=fields)


def bodies_in(body: Mapping[str, Any]) -> list[Any]:
    """Raises InvalidTask for what is no batch."""
    if unknown := body.keys() - {"tasks"}:
        raise InvalidTask(dict.fromkeys(sorted(unknown), "is not a field of a batch"))
    tasks = body.get("tasks")
    if not isinstance(tasks, list) or not 1 <= len(tasks) <= LARGEST_BATCH:
        raise InvalidTask({"tasks": f"must be a list of 1 to {LARGEST_BATCH} tasks"})
    return tasks


def new_tasks(bodies: Sequence[Any], caller: Caller, trace_context: str | None) -> list[NewTask]:
    """Raises Refused with what is wrong with each of them, by its index in the batch."""
    owners: dict[object, Tenant] = {}
    tasks: list[NewTask] = []
    faults: list[dict[str, Any]] = []
    for index, body in enumerate(bodies):
        try:
            tasks.append(one_task(body, caller, owners)._replace(trace_context=trace_context))
        except InvalidTask as error:
            faults += [
                {"index": index, "field": field, "detail": fault}
                for field, fault in error.errors.items()
            ]
    if faults:
        detail = "Nothing was stored. `errors` says what is wrong with which task of the batch."
        raise Refused(Kind.INVALID_REQUEST, detail, errors=faults)
    return tasks


def one_task(body: Any, caller: Caller, owners: dict[object, Tenant]) -> NewTask:
    """`owners` remembers the tenants that an operator has named."""
    if not isinstance(body, dict):
        raise InvalidTask({"task": "must be an object"})
    asked = dict(body)
    key, slug = asked.pop("idempotency_key", None), asked.get("tenant")
    if slug is not None and not isinstance(slug, str):
        raise InvalidTask({"tenant": "must be the slug of a tenant"})
    owner = owners.get(slug) or owner_meant(caller, slug)
    owners[slug] = owner
    return new_task(asked, owner, key)


def telling_places(error: IdempotencyMismatch, tasks: Sequence[NewTask]) -> Refused:
    """The same problem as for one task, and which tasks of the batch carry that key."""
    problem = problem_of(error)
    assert problem is not None  # nosec B101  # for the type checker
    places = [index for index, task in enumerate(tasks) if task.idempotency_key == error.key]
    return Refused(problem.kind, problem.detail, **problem.extra, indexes=places)
