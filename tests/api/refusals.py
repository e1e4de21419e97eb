"""How every kind of problem is brought about.

The table of `provocations` says of which operation. Each takes a request that would succeed, and sees to it that
it does not.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias
from uuid import UUID

from django.db import OperationalError

from scheduling.api.v1.body import MAX_BYTES
from scheduling.api.v1.kinds import Kind
from tests.api.stage import Call, Exchange, Stage

Outcome: TypeAlias = tuple[int, str] | Kind
"""Status and name of a success, or the kind of a problem."""
Provocation: TypeAlias = Callable[[Stage, Call], Exchange]

NOBODYS = UUID(int=1)
TASK = {"name": "demo.echo", "payload": {"message": "hello"}}
KEY = {"Idempotency-Key": '"order-4711"'}
KEYED = TASK | {"idempotency_key": "order-4711"}


def plain(stage: Stage, call: Call) -> Exchange:
    return stage.send(call)


def twice(stage: Stage, call: Call) -> Exchange:
    stage.send(call)
    return stage.send(call)


def of_a(find: Callable[[Stage], UUID]) -> Provocation:
    """The same, about a task that is found in that way."""
    return lambda stage, call: stage.send(call.but(ids={"task_id": find(stage)}))


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
ABOUT_A_TASK: Mapping[Outcome, Provocation] = {Kind.UNKNOWN_TASK: of_a(lambda _: NOBODYS)}
