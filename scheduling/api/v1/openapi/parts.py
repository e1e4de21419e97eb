"""What operations are put together from: answers, problems, parameters, links."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any

from scheduling.api.v1 import problems
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.openapi.schemas import ID, Schema, number, ref, text

Operation = dict[str, Any]

ANYBODY = (Kind.MALFORMED_REQUEST, Kind.NOT_ACCEPTABLE, Kind.UNAVAILABLE)
CALLER = (*ANYBODY, Kind.UNAUTHENTICATED, Kind.MISSING_SCOPE, Kind.INTERNAL_ERROR)
NAMES_A_TENANT = (Kind.INVALID_REQUEST, Kind.WRONG_TENANT)
BODY = (
    Kind.INVALID_REQUEST,
    Kind.LENGTH_REQUIRED,
    Kind.BODY_TOO_LARGE,
    Kind.UNSUPPORTED_MEDIA_TYPE,
)
ONE_TASK = (*CALLER, Kind.UNKNOWN_TASK)

RATE_LIMIT: dict[str, Schema] = {"RateLimit": text(), "RateLimit-Policy": text()}
HEADERS_OF: dict[int, dict[str, Schema]] = {
    401: {"WWW-Authenticate": text()},
    429: {"Retry-After": number(minimum=1), **RATE_LIMIT},
    503: {"Retry-After": number(minimum=1)},
}
LINKED = {
    "task": "the task itself",
    "explainTask": "why it is not running",
    "cancelTask": "stop it",
    "redriveTask": "try it again, once it is a dead letter",
}


def answer(description: str, schema: str, **more: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": ref(schema)}}
    return {"description": description, "content": content, **more}


def refusals(kinds: Iterable[Kind]) -> dict[str, Any]:
    """By status; what a status has several kinds for is told apart by `type`."""
    by_status = attrgetter("status")
    return {
        str(status): {
            "description": "; ".join(kind.title for kind in same),
            "content": {problems.MEDIA_TYPE: {"schema": ref("Problem")}},
            "headers": headers(HEADERS_OF.get(status, {})),
        }
        for status, same in groupby(sorted(set(kinds), key=by_status), key=by_status)
    }


def headers(schemas: dict[str, Schema]) -> dict[str, Any]:
    return {name: {"schema": schema} for name, schema in schemas.items()}


def parameter(name: str, schema: Schema, where: str = "query") -> dict[str, Any]:
    return {"name": name, "in": where, "required": where == "path", "schema": schema}


def operation(
    name: str,
    summary: str,
    kinds: Iterable[Kind],
    answers: dict[str, Any],
    *,
    parameters: Iterable[dict[str, Any]] = (),
    body: str = "",
    is_body_needed: bool = True,
) -> Operation:
    made: Operation = {"operationId": name, "summary": summary, "parameters": list(parameters)}
    if body:
        content = {"application/json": {"schema": ref(body)}}
        made["requestBody"] = {"required": is_body_needed, "content": content}
    return made | {"responses": answers | refusals(kinds)}


def links_by(expression: str) -> dict[str, Any]:
    """What can be done next with the task whose id is found there."""
    return {
        operation_id: {
            "operationId": operation_id,
            "description": description,
            "parameters": {"task_id": expression},
        }
        for operation_id, description in LINKED.items()
    }


TASK_ID = parameter("task_id", ID, "path")
NEXT = {"links": links_by("$response.body#/id")}
ACCEPTED = {
    **NEXT,
    "headers": headers({"Location": text(), "Idempotency-Replayed": text(), **RATE_LIMIT}),
}
