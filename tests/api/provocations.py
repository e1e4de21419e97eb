"""How every documented answer of every operation is brought about: one table, whose rows are real requests.

A success has a name, which its example in the document has too. A problem is named by its kind, and brought about
in `refusals`.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from scheduling import clock
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.representation import instant
from tenants.models import Tenant
from tests.api.refusals import (
    ABOUT_A_TASK,
    ADMITTED,
    ENQUEUED,
    EVERYBODY,
    KEY,
    KEYED,
    NOBODYS,
    TASK,
    WITH_A_BODY,
    WITH_A_FILTER,
    Outcome,
    Provocation,
    among_those_of_another_tenant,
    another_under_its_key,
    another_under_the_key,
    for_another_tenant,
    of_a,
    plain,
    twice,
    with_a_task_of_another_tenant,
)
from tests.api.stage import Call, Exchange, Stage


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


def listed(stage: Stage, call: Call) -> Exchange:
    for _ in range(3):
        stage.waiting(queue="mail")
    return stage.send(call.but(query={"state": "queued", "queue": "mail", "limit": 2}))


def running_with_progress(stage: Stage, call: Call) -> Exchange:
    claim = stage.running(queue="films")
    said = {"done": 3, "total": 12, "note": "reels"}
    stage.send(renewal(claim.task_id, said))
    return stage.send(call.but(ids={"task_id": claim.task_id}))


def one_of_each_state(stage: Stage, call: Call) -> Exchange:
    Tenant.objects.filter(pk=stage.tenant_a.pk).update(
        max_queued=1000, max_in_flight=20, rate_per_second=0.1, rate_burst=50
    )
    stage.running(queue="films")
    stage.waiting(queue="mail")
    return stage.send(call)


def paused(stage: Stage, call: Call) -> Exchange:
    body = {"paused": True, "queue": "mail", "reason": "the relay is down", "for_seconds": 600}
    stage.running(queue="mail")
    return stage.send(Call("controlExecution", body=body))


def resumed(stage: Stage, call: Call) -> Exchange:
    paused(stage, call)
    return stage.send(call.but(body={"paused": False, "queue": "mail"}))


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


SWEPT: Mapping[Outcome, Provocation] = {
    **WITH_A_BODY,
    Kind.WRONG_TENANT: among_those_of_another_tenant,
    (200, "preview"): previewed,
    (200, "by-filter"): some_dead,
    (200, "by-ids"): by_their_ids,
}

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
        (200, "resume"): resumed,
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
