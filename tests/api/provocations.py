"""How every documented answer of every operation is brought about: one table, whose rows are real requests.

A success has a name, which its example in the document has too. A problem is named by its kind.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeAlias
from uuid import UUID

from django.db import OperationalError

from scheduling import clock
from scheduling.api.v1.body import MAX_BYTES
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.representation import instant
from tenants.models import Tenant
from tests.api.stage import Call, Exchange, Stage

Outcome: TypeAlias = tuple[int, str] | Kind
"""Status and name of a success, or the kind of a problem."""
Provocation: TypeAlias = Callable[[Stage, Call], Exchange]

NOBODYS = UUID(int=1)
TASK = {"name": "demo.echo", "payload": {"message": "hello"}}
KEY = {"Idempotency-Key": '"order-4711"'}
KEYED = TASK | {"idempotency_key": "order-4711"}


# Successes


def plain(stage: Stage, call: Call) -> Exchange:
    return stage.send(call)


def with_everything(stage: Stage, call: Call) -> Exchange:
    body = {
        "name": "film.cut",
        "queue": "films",
        "payload": {"reel": 7},
        "priority": 5,
        "delay_seconds": 60,
        "max_attempts": 5,
        "timeout_seconds": 600,
        "deadline": instant(clock.now() + timedelta(days=1)),
    }
    return stage.send(call.but(body=body, headers=KEY))


def twice(stage: Stage, call: Call) -> Exchange:
    stage.send(call)
    return stage.send(call)


def listed(stage: Stage, call: Call) -> Exchange:
    for _ in range(3):
        stage.waiting(queue="mail")
    return stage.send(call.but(query={"state": "queued", "queue": "mail", "limit": 2}))


def of_a(find: Callable[[Stage], UUID]) -> Provocation:
    """The same, about a task that is found in that way."""
    return lambda stage, call: stage.send(call.but(ids={"task_id": find(stage)}))


def running_with_progress(stage: Stage, call: Call) -> Exchange:
    claim = stage.running(queue="films")
    said = {"done": 3, "total": 12, "note": "reels"}
    stage.send(renewal(claim.task_id, said))
    return stage.send(call.but(ids={"task_id": claim.task_id}))


def one_of_each_state(stage: Stage, call: Call) -> Exchange:
    Tenant.objects.filter(pk=stage.tenant_a.pk).update(
        max_queued=1000, max_in_flight=20, rate_per_second=5, rate_burst=50
    )
    stage.running(queue="films")
    stage.waiting(queue="mail")
    return stage.send(call)


def paused(stage: Stage, call: Call) -> Exchange:
    body = {"paused": True, "queue": "mail", "reason": "the relay is down", "for_seconds": 600}
    stage.running(queue="mail")
    return stage.send(Call("controlExecution", body=body))


def while_paused(stage: Stage, call: Call) -> Exchange:
    paused(stage, call)
    return stage.send(call.but(query={"queue": "mail"}))


def some_dead(stage: Stage, call: Call) -> Exchange:
    stage.dead()
    stage.dead()
    return stage.send(call)


def previewed(stage: Stage, call: Call) -> Exchange:
    stage.dead()
    return stage.send(call.but(body={**call.body, "preview": True}))


def by_their_ids(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.but(body={"ids": [str(stage.dead())]}))


def claimed(stage: Stage, call: Call) -> Exchange:
    stage.waiting(name="film.cut", queue="films")
    return stage.send(call)


def renewed(stage: Stage, call: Call) -> Exchange:
    held, lost = stage.running(queue="films"), stage.succeeded()
    body = renewal(held.task_id, {"done": 3, "total": 12, "note": "reels"}).body
    body["leases"].append({"task_id": str(lost), "generation": 1})
    return stage.send(call.but(body=body))


def settled(stage: Stage, call: Call) -> Exchange:
    """Each outcome there is, and a worker that comes too late."""
    sayings: list[dict[str, Any]] = [
        {"outcome": "succeeded", "result": {"cut": 7}},
        {"outcome": "failed", "error": {"class": "IOError", "message": "reel 8 is torn"}}
        | {"retry_in_seconds": 600},
        {"outcome": "failed", "error": {"class": "KeyError"}, "permanent": True},
        {"outcome": "snoozed", "delay_seconds": 60},
        {"outcome": "released"},
    ]
    leases = [lease_of(stage.running(queue="films").task_id) | said for said in sayings]
    leases.append(lease_of(stage.succeeded()) | {"outcome": "released"})
    return stage.send(call.but(body={"worker": str(UUID(int=7)), "leases": leases}))


def lease_of(task_id: UUID) -> dict[str, Any]:
    return {"task_id": str(task_id), "generation": 1}


def renewal(task_id: UUID, progress: dict[str, Any]) -> Call:
    lease = lease_of(task_id) | {"progress": progress}
    return Call("renewLeases", body={"worker": str(UUID(int=7)), "leases": [lease]})


# Problems of every operation


def to_a_strange_host(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.saying({"Host": "elsewhere.example"}))


def accepting_pictures(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.saying({"Accept": "image/png"}))


def without_a_token(stage: Stage, call: Call) -> Exchange:
    return stage.send(call, token=False)


def without_the_scope(stage: Stage, call: Call) -> Exchange:
    return stage.send(call, scopes=[])


def while_the_database_is_silent(stage: Stage, call: Call) -> Exchange:
    with stage.database_raises(OperationalError("could not connect to server")):
        return stage.send(call)


def over_a_fault_of_ours(stage: Stage, call: Call) -> Exchange:
    with stage.database_raises(RuntimeError("nobody foresaw this")):
        return stage.send(call)


# Problems of what is sent


def too_large(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.but(body=b" " * (MAX_BYTES + 1)))


def as_a_form(stage: Stage, call: Call) -> Exchange:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return stage.send(call.but(body=b"name=demo.echo").saying(headers))


def in_chunks(stage: Stage, call: Call) -> Exchange:
    """Of a server that leaves it to the application where they end."""
    return stage.send(call.but(body=call.body or {}).saying({"Transfer-Encoding": "chunked"}))


def with_a_misspelt_field(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.but(body={**(call.body or {}), "pirority": 5}))


def with_a_misspelt_filter(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.but(query={"quue": "mail"}))


def for_another_tenant(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.but(body={**call.body, "tenant": stage.tenant_b.slug}))


def asking_about_another_tenant(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.but(query={"tenant": stage.tenant_b.slug}))


def with_a_task_of_another_tenant(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.but(body={"tasks": [TASK | {"tenant": stage.tenant_b.slug}]}))


def among_those_of_another_tenant(stage: Stage, call: Call) -> Exchange:
    return stage.send(call.but(body={"filter": {"tenant": stage.tenant_b.slug}}))


# Problems of the state of things


def over_the_limit(stage: Stage, call: Call) -> Exchange:
    dead = stage.dead()
    stage.fill_tenant()
    return stage.send(call.but(ids={"task_id": dead}) if "task_id" in call.ids else call)


def without_room_for_anybody(stage: Stage, call: Call) -> Exchange:
    dead = stage.dead()
    with stage.full_ledger():
        return stage.send(call.but(ids={"task_id": dead}) if "task_id" in call.ids else call)


def another_under_the_key(stage: Stage, call: Call) -> Exchange:
    stage.send(call.but(headers=KEY))
    return stage.send(call.but(headers=KEY, body=TASK | {"priority": 5}))


def another_under_its_key(stage: Stage, call: Call) -> Exchange:
    stage.send(call.but(body={"tasks": [KEYED]}))
    return stage.send(call.but(body={"tasks": [TASK, KEYED | {"priority": 5}]}))


def while_the_first_is_under_way(stage: Stage, call: Call) -> Exchange:
    keyed = call.but(headers=KEY) if call.operation == "enqueueTask" else call
    with stage.another_holding_the_key():
        return stage.send(keyed)


EVERYBODY: Mapping[Outcome, Provocation] = {
    Kind.MALFORMED_REQUEST: to_a_strange_host,
    Kind.UNAUTHENTICATED: without_a_token,
    Kind.MISSING_SCOPE: without_the_scope,
    Kind.NOT_ACCEPTABLE: accepting_pictures,
    Kind.INTERNAL_ERROR: over_a_fault_of_ours,
    Kind.UNAVAILABLE: while_the_database_is_silent,
}
WITH_A_BODY: Mapping[Outcome, Provocation] = {
    **EVERYBODY,
    Kind.INVALID_REQUEST: with_a_misspelt_field,
    Kind.LENGTH_REQUIRED: in_chunks,
    Kind.BODY_TOO_LARGE: too_large,
    Kind.UNSUPPORTED_MEDIA_TYPE: as_a_form,
}
WITH_A_FILTER: Mapping[Outcome, Provocation] = {
    **EVERYBODY,
    Kind.INVALID_REQUEST: with_a_misspelt_filter,
    Kind.WRONG_TENANT: asking_about_another_tenant,
}
ADMITTED: Mapping[Outcome, Provocation] = {
    Kind.LIMIT_EXCEEDED: over_the_limit,
    Kind.TEMPORARY_REDUCED_CAPACITY: without_room_for_anybody,
}
ENQUEUED: Mapping[Outcome, Provocation] = {
    **WITH_A_BODY,
    **ADMITTED,
    Kind.IDEMPOTENCY_KEY_IN_USE: while_the_first_is_under_way,
}
SWEPT: Mapping[Outcome, Provocation] = {
    **WITH_A_BODY,
    Kind.WRONG_TENANT: among_those_of_another_tenant,
    (200, "preview"): previewed,
    (200, "by-filter"): some_dead,
    (200, "by-ids"): by_their_ids,
}
ABOUT_A_TASK: Mapping[Outcome, Provocation] = {Kind.UNKNOWN_TASK: of_a(lambda _: NOBODYS)}

TABLE: Mapping[str, Mapping[Outcome, Provocation]] = {
    "enqueueTask": {
        **ENQUEUED,
        Kind.WRONG_TENANT: for_another_tenant,
        Kind.IDEMPOTENCY_KEY_REUSED: another_under_the_key,
        (201, "accepted"): plain,
        (201, "with-everything"): with_everything,
        (200, "again"): lambda stage, call: twice(stage, call.but(headers=KEY)),
    },
    "listTasks": {**WITH_A_FILTER, (200, "page"): listed},
    "enqueueTasks": {
        **ENQUEUED,
        Kind.WRONG_TENANT: with_a_task_of_another_tenant,
        Kind.IDEMPOTENCY_KEY_REUSED: another_under_its_key,
        (201, "accepted"): plain,
        (200, "again"): lambda stage, call: twice(stage, call.but(body={"tasks": [KEYED]})),
    },
    "task": {
        **EVERYBODY,
        **ABOUT_A_TASK,
        Kind.INVALID_REQUEST: lambda stage, call: stage.send(call.but(query={"wait": 31})),
        (200, "succeeded"): of_a(Stage.succeeded),
        (200, "dead"): of_a(Stage.dead),
        (200, "running"): running_with_progress,
    },
    "explainTask": {**EVERYBODY, **ABOUT_A_TASK, (200, "next"): plain},
    "cancelTask": {
        **WITH_A_BODY,
        **ABOUT_A_TASK,
        Kind.WRONG_STATE: of_a(Stage.succeeded),
        (200, "queued"): lambda stage, call: stage.send(call.but(body={"reason": "sent twice"})),
        (202, "running"): of_a(lambda stage: stage.running().task_id),
    },
    "redriveTask": {
        **WITH_A_BODY,
        **ABOUT_A_TASK,
        **ADMITTED,
        Kind.WRONG_STATE: of_a(Stage.waiting),
        (200, "dead"): lambda stage, call: stage.send(
            call.but(body={"reason": "the address is mended"})
        ),
    },
    "limits": {**WITH_A_FILTER, (200, "limited"): one_of_each_state},
    "listQueues": {**WITH_A_FILTER, (200, "page"): one_of_each_state},
    "executionControl": {
        **WITH_A_FILTER,
        (200, "not-paused"): plain,
        (200, "paused"): while_paused,
    },
    "controlExecution": {
        **WITH_A_BODY,
        Kind.WRONG_TENANT: for_another_tenant,
        (200, "pause"): paused,
        (200, "resume"): lambda stage, call: stage.send(call.but(body={"paused": False})),
    },
    "redriveDeadLetters": {**SWEPT, **ADMITTED},
    "discardDeadLetters": SWEPT,
    "claimTasks": {
        **WITH_A_BODY,
        Kind.WRONG_TENANT: for_another_tenant,
        (200, "claimed"): claimed,
    },
    "renewLeases": {**WITH_A_BODY, (200, "each-by-itself"): renewed},
    "settleLeases": {**WITH_A_BODY, (200, "each-by-itself"): settled},
}


def usual(operation: str, stage: Stage) -> Call:
    """A request to the operation that would succeed."""
    filtered = {"filter": {"name": "demo.echo"}, "limit": 2}
    bodies: dict[str, Any] = {
        "enqueueTask": TASK,
        "enqueueTasks": {"tasks": [KEYED, TASK | {"delay_seconds": 60}]},
        "controlExecution": {"paused": True, "reason": "deploy"},
        "redriveDeadLetters": filtered | {"reason": "the address is mended"},
        "discardDeadLetters": filtered | {"reason": "nobody needs them"},
        "claimTasks": {"queues": ["films"], "max": 1, "lease_seconds": 30, "wait": 0},
        "renewLeases": renewal(NOBODYS, {"fraction": 0.5}).body,
        "settleLeases": {"worker": str(UUID(int=7))}
        | {"leases": [lease_of(NOBODYS) | {"outcome": "succeeded"}]},
    }
    finders: dict[str, Callable[[], UUID]] = {
        "task": stage.succeeded,
        "explainTask": stage.waiting,
        "cancelTask": stage.waiting,
        "redriveTask": stage.dead,
    }
    find = finders.get(operation)
    return Call(operation, ids={"task_id": find()} if find else {}, body=bodies.get(operation))
