"""`/v1/leases`: remote workers claim, renew and settle, behind the fence that Python workers stand before."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID, uuid4

from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import ledger, payload, retry, returned
from scheduling.api.v1 import body
from scheduling.api.v1.base import ApiView
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.lease_serializers import (
    ClaimSerializer,
    RenewSerializer,
    SettleSerializer,
    fences,
    judged_together,
)
from scheduling.api.v1.problems import Problem, invalid, problem_of
from scheduling.api.v1.representation import instant, payload_of
from scheduling.api.v1.serializers import parsed
from scheduling.api.v1.tenancy import tenant_meant
from scheduling.api.v1.until_found import Waiter, line
from scheduling.api.v1.waiting import CLIENT, seats
from scheduling.conf import conf
from scheduling.errors import InvalidTask, StaleLease, UnknownTask
from scheduling.ledger import (
    Claim,
    Claims,
    Fail,
    Failure,
    Fence,
    Release,
    Settlement,
    Snooze,
    Succeed,
    Verdict,
)
from scheduling.models import Task
from scheduling.states import Outcome, TaskState
from tenants.authentication import Caller
from tenants.models import Scope, Tenant


class LeaseView(ApiView):
    """What they have in common. How long verbs took is written down with a request that comes later."""

    scopes: ClassVar[Mapping[str, Scope]] = {"POST": Scope.WORK}

    def json_object(self) -> dict[str, Any]:
        """What one lease comes with and cannot be stored is no reason to refuse the others."""
        said = body.json_object(self.request._request, load=payload.parse)
        payload.check(judged_together(said), "", depth=payload.MAX_DEPTH + payload.ENVELOPE_DEPTH)
        return said

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        ledger.write_paces_now_and_then()


class ClaimView(LeaseView):
    """Lease tasks of remote queues: a tenant's token its own, an operator's everybody's."""

    instead_of_a_key = "a claim whose answer got lost ends with its lease, and its tasks run again"

    def post(self, request: Request) -> Response:
        asked = parsed(ClaimSerializer, self.json_object())
        tenant = tenant_meant(self.caller, asked.get("tenant"))
        worker, queues = asked.get("worker") or uuid4(), remote_queues(asked.get("queues"))

        def look() -> Claims:
            return ledger.claim(
                worker,
                limit=asked["max"],
                queues=queues,
                tenant=tenant,
                lease=timedelta(seconds=asked["lease_seconds"]),
            )

        found = look()
        if not found.claims and asked["wait"]:
            reach = ledger.reach_of(queues, tenant)
            found = self.wait(Waiter(reach, look, request.META.get(CLIENT)), asked["wait"])
        readable, unreadable = sorted_out(found.claims)
        if unreadable:
            ledger.settle(unreadable)
        shown = [as_work(claim, arguments, self.caller) for claim, arguments in readable]
        return Response({"worker": str(worker), "tasks": shown})

    def wait(self, waiter: Waiter, seconds: float) -> Claims:
        with seats.one_for(self.caller.tenant) as is_free:
            return line.until_found(waiter, seconds, self.request.META) if is_free else Claims()


class RenewView(LeaseView):
    """Say that the worker is still at it, and how far it has come."""

    instead_of_a_key = "renewing again does no harm"

    def post(self, request: Request) -> Response:
        asked = parsed(RenewSerializer, self.json_object())
        named = fences(asked["leases"])
        attempts = charged_attempts(named, self.caller.tenant)
        renewal = ledger.renew_remotely(
            asked["worker"],
            [fence for fence in named if fence[0] in attempts],
            lease=timedelta(seconds=asked["lease_seconds"]),
            progress={
                fence: lease["progress"]
                for fence, lease in zip(named, asked["leases"], strict=True)
                if "progress" in lease
            },
        )
        done = {
            (task_id, generation): {
                "expires_at": instant(renewal.expires_at),
                "cancel_requested": task_id in renewal.cancel_requested,
            }
            for task_id, generation in renewal.renewed
        }
        return Response({"leases": answers(named, done, self.caller.tenant, request.path)})


class SettleView(LeaseView):
    """Say what became of the tasks."""

    instead_of_a_key = "settling again is answered as the first time"

    def post(self, request: Request) -> Response:
        asked = parsed(SettleSerializer, self.json_object())
        named = fences(asked["leases"])
        attempts = charged_attempts(named, self.caller.tenant)
        said: dict[Fence, Verdict] = {}
        answered: dict[Fence, dict[str, Any]] = {}
        for fence, lease in zip(named, asked["leases"], strict=True):
            if fence[0] in attempts:
                try:
                    said[fence] = verdict(lease, attempts[fence[0]] + 1)
                except InvalidTask as error:
                    answered[fence] = {"problem": invalid(error.errors).members(request.path)}
        settling = ledger.settle_remotely(asked["worker"], said)
        answered |= {
            (one.task_id, one.generation): {"state": one.state, "due_at": instant(one.due_at)}
            for one in settling.settled
        }
        return Response({"leases": answers(named, answered, self.caller.tenant, request.path)})


def remote_queues(asked: list[str] | None) -> list[str]:
    """Those asked for, or all there are. Raises InvalidTask for one that remote workers do not serve."""
    declared = conf().REMOTE_QUEUES
    if not declared:
        raise InvalidTask({"queues": "cannot be served: this installation declares none as remote"})
    if undeclared := [queue for queue in asked or () if queue not in declared]:
        raise InvalidTask({"queues": f"{undeclared[0]!r} is not declared as remote"})
    return asked or list(declared)


def sorted_out(
    claims: Collection[Claim],
) -> tuple[list[tuple[Claim, dict[str, Any]]], list[Settlement]]:
    """Those whose payload can be told, and how the others end: somebody changed their rows by hand."""
    readable, unreadable = [], []
    for claim in claims:
        try:
            readable.append((claim, payload_of(*claim.arguments())))
        except ValueError as error:
            failure = Failure("ValueError", str(error))
            unreadable.append(Settlement(claim, Fail(failure, retry_in=None)))
    return readable, unreadable


def as_work(claim: Claim, payload: dict[str, Any], caller: Caller) -> dict[str, Any]:
    """A task, for the one who is to run it."""
    shown = {
        "id": str(claim.task_id),
        "generation": claim.generation,
        "name": claim.name,
        "queue": claim.queue,
        "payload": payload,
        "attempt": claim.attempt,
        "max_attempts": claim.max_attempts,
        "timeout_seconds": claim.timeout_seconds,
        "deadline": instant(claim.deadline),
        "due_at": instant(claim.due_at),
        "expires_at": instant(claim.expires_at),
        "idempotency_key": claim.idempotency_key,
        "traceparent": claim.trace_context,
    }
    return shown | {"tenant": claim.tenant} if caller.is_operator else shown


def charged_attempts(named: Collection[Fence], tenant: Tenant | None) -> dict[UUID, int]:
    """Of the tasks named, those that the caller may see, with the attempts that count against them."""
    tasks = Task.objects.of(tenant).filter(pk__among=[task_id for task_id, _ in named])
    return dict(tasks.values_list("pk", "attempts"))


def verdict(said: Mapping[str, Any], attempt: int) -> Verdict:
    """What a worker says of one lease, in the ledger's terms. Raises InvalidTask for a result that cannot be kept."""
    match said["outcome"]:
        case Outcome.SUCCEEDED:
            return Succeed(returned.as_json(said.get("result")))
        case Outcome.SNOOZED:
            return Snooze(timedelta(seconds=said["delay_seconds"]))
        case Outcome.RELEASED:
            return Release()
        case _:
            error = said["error"]
            failure = Failure(error["class"], error["message"], error["traceback"])
            return Fail(failure, retry_in(said, attempt))


def retry_in(said: Mapping[str, Any], attempt: int) -> timedelta | None:
    """None: not at all. What a worker leaves open is as for any task."""
    if said.get("permanent"):
        return None
    if "retry_in_seconds" in said:
        return timedelta(seconds=said["retry_in_seconds"])
    return retry.backoff(attempt)


def answers(
    named: Sequence[Fence],
    answered: Mapping[Fence, dict[str, Any]],
    tenant: Tenant | None,
    path: str,
) -> list[dict[str, Any]]:
    """One for each lease named, in their order: what was done, or why it was not."""
    refused = [task_id for task_id, generation in named if (task_id, generation) not in answered]
    tasks = Task.objects.of(tenant).filter(pk__among=refused) if refused else Task.objects.none()
    standing = {
        pk: (held, state) for pk, held, state in tasks.values_list("pk", "generation", "state")
    }
    return [
        {"task_id": str(task_id), "generation": generation}
        | (
            answered.get((task_id, generation))
            or {"problem": refusal(task_id, generation, standing.get(task_id), path)}
        )
        for task_id, generation in named
    ]


def refusal(
    task_id: UUID, generation: int, standing: tuple[int, str] | None, path: str
) -> dict[str, Any]:
    """The problem that it would be if it had been asked alone. Another tenant's task is none."""
    if standing is None:
        problem = problem_of(UnknownTask(task_id))
        assert problem is not None  # nosec B101  # for the type checker
        return problem.members(path)
    current, state = standing
    error = StaleLease(task_id, generation, current if state == TaskState.RUNNING else None)
    return Problem(Kind.STALE_LEASE, str(error), {"current_generation": current}).members(path)
