"""What operations are put together from: answers, problems, parameters, links."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any

from scheduling.api.v1 import problems
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.openapi import examples
from scheduling.api.v1.openapi.schemas import ID, Schema, integer, ref, text

Operation = dict[str, Any]
JSON_TYPE = "application/json"

ANYBODY = (Kind.MALFORMED_REQUEST, Kind.NOT_ACCEPTABLE, Kind.UNAVAILABLE)
CALLER = (*ANYBODY, Kind.UNAUTHENTICATED, Kind.MISSING_SCOPE, Kind.INTERNAL_ERROR)
NAMES_A_TENANT = (Kind.INVALID_REQUEST, Kind.WRONG_TENANT)
BODY = (
    Kind.INVALID_REQUEST,
    Kind.LENGTH_REQUIRED,
    Kind.BODY_TOO_LARGE,
    Kind.UNSUPPORTED_MEDIA_TYPE,
)
ADMISSION = (Kind.LIMIT_EXCEEDED, Kind.TEMPORARY_REDUCED_CAPACITY)
ONE_TASK = (*CALLER, Kind.UNKNOWN_TASK)

RATE_LIMIT: dict[str, Schema] = {"RateLimit": text(), "RateLimit-Policy": text()}
RETRY_AFTER: dict[str, Schema] = {"Retry-After": integer(minimum=1, description="seconds")}
HEADERS_OF: dict[int, dict[str, Schema]] = {
    401: {"WWW-Authenticate": text()},
    429: {**RETRY_AFTER, **RATE_LIMIT},
    503: {**RETRY_AFTER, **RATE_LIMIT},
}
"""Of problems with that status, always."""
LINKED = {
    "task": "the task itself",
    "explainTask": "why it is not running",
    "cancelTask": "stop it",
    "redriveTask": "try it again, once it is a dead letter",
}


def answer(description: str, schema: str, **more: Any) -> dict[str, Any]:
    content = {JSON_TYPE: {"schema": ref(schema)}}
    return {"description": description, "content": content, **more}


def refusals(kinds: Iterable[Kind]) -> dict[str, Any]:
    """By status; what a status has several kinds for is told apart by `type`."""
    return {
        str(status): {
            "description": "; ".join(kind.title for kind in same),
            "content": {
                problems.MEDIA_TYPE: {
                    "schema": ref("Problem"),
                    "examples": {
                        kind.slug: {"$ref": f"#/components/examples/{kind.slug}"} for kind in same
                    },
                }
            },
            "headers": headers(HEADERS_OF.get(status, {}), always=True),
        }
        for status, same in kinds_by_status(kinds)
    }


def kinds_by_status(kinds: Iterable[Kind]) -> Iterable[tuple[int, list[Kind]]]:
    """Each kind once, in the order in which they are declared."""
    asked = set(kinds)
    by_status = attrgetter("status")
    ordered = sorted((kind for kind in Kind if kind in asked), key=by_status)
    return [(status, list(same)) for status, same in groupby(ordered, key=by_status)]


def headers(schemas: dict[str, Schema], *, always: bool = False) -> dict[str, Any]:
    return {name: {"schema": schema, "required": always} for name, schema in schemas.items()}


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
    made: Operation = {"operationId": name, "summary": summary}
    made["parameters"] = [{**one} for one in parameters]  # each with an example of its own
    if body:
        content = {JSON_TYPE: {"schema": ref(body)}}
        made["requestBody"] = {"required": is_body_needed, "content": content}
    made |= {"responses": answers | refusals(kinds)}
    examples.show(made)
    return made


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
