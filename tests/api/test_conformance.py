"""The document, operation by operation: whatever it lists can be had by a request, is answered in the documented form, and is what its example shows."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from pytest_django import Settings

from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.openapi import document, examples
from scheduling.api.v1.problems import MEDIA_TYPE
from tenants.models import Tenant
from tests.api import provocations, recurring_provocations
from tests.api.kit import JSON, Api, faults, problem
from tests.api.refusals import KEY, NOBODYS, Outcome, Provocation
from tests.api.stage import PLACES, Call, Exchange, Stage, steadied, told

TABLE = {**provocations.TABLE, **recurring_provocations.TABLE}
ROWS = [
    (operation, outcome, provocation)
    for operation, row in TABLE.items()
    for outcome, provocation in row.items()
]
RECORD = bool(os.environ.get("RECORD_EXAMPLES"))
RECORDS = Path(examples.__file__).with_name("examples.json")
NEEDS_OTHERS = {Kind.IDEMPOTENCY_KEY_IN_USE}
"""Brought about by a transaction beside the request's own."""


@pytest.fixture
def stage(tenant_a: Tenant, tenant_b: Tenant, settings: Settings) -> Stage:
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": ["films"]}
    return Stage(settings, tenant_a, tenant_b)


def usual(operation: str, stage: Stage) -> Call:
    if operation in recurring_provocations.TABLE:
        return recurring_provocations.usual(operation, stage)
    return provocations.usual(operation, stage)


def named(outcome: Outcome) -> str:
    return outcome.slug if isinstance(outcome, Kind) else f"{outcome[0]} {outcome[1]}"


def rows(*, needing_others: bool) -> pytest.MarkDecorator:
    chosen = [row for row in ROWS if (row[1] in NEEDS_OTHERS) is needing_others]
    ids = [f"{operation} {named(outcome)}" for operation, outcome, _ in chosen]
    return pytest.mark.parametrize(("operation", "outcome", "provocation"), chosen, ids=ids)


@pytest.mark.django_db
@rows(needing_others=False)
def test_what_is_documented_can_be_had(
    stage: Stage, operation: str, outcome: Outcome, provocation: Provocation
) -> None:
    answered_as_documented(outcome, provocation(stage, usual(operation, stage)))


@pytest.mark.django_db(transaction=True)
@rows(needing_others=True)
def test_what_is_documented_can_be_had_beside_others(
    stage: Stage, operation: str, outcome: Outcome, provocation: Provocation
) -> None:
    answered_as_documented(outcome, provocation(stage, usual(operation, stage)))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "method", "path"),
    [
        (Kind.NOT_FOUND, "GET", "/v1/nothing"),
        (Kind.METHOD_NOT_ALLOWED, "DELETE", "/v1/tasks"),
    ],
)
def test_problems_that_belong_to_no_operation(
    stage: Stage, kind: Kind, method: str, path: str
) -> None:
    compare("problems", kind.slug, steadied(Api(stage.secret()).send(method, path).json()))


@pytest.mark.django_db
@pytest.mark.parametrize("path", document()["paths"])
def test_methods_that_are_not_documented_are_refused_with_those_that_are(
    stage: Stage, path: str
) -> None:
    taken = {method.upper() for method in document()["paths"][path]}
    address = path.format(task_id=NOBODYS, recurring_task_id=NOBODYS)
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - taken:
        answer = Api(stage.secret()).send(method, address)
        assert problem(answer) == (405, "method-not-allowed"), method
        allowed = set(answer["Allow"].split(", "))
        assert allowed == taken | {"OPTIONS"} | ({"HEAD"} if "GET" in taken else set())


@pytest.mark.django_db
@pytest.mark.parametrize(
    "operation", [name for name, (method, _) in PLACES.items() if method in ("POST", "PATCH")]
)
def test_a_key_is_heeded_or_refused_and_never_ignored(stage: Stage, operation: str) -> None:
    sent = stage.send(usual(operation, stage).saying(KEY))
    if "Idempotency-Key" in {one["name"] for one in documented(operation)["parameters"]}:
        assert sent.answer.status_code == 201
    else:
        assert "The Idempotency-Key header" in faults(sent.answer)["idempotency_key"]


@pytest.mark.django_db
def test_a_problem_of_one_lease_among_others(stage: Stage) -> None:
    exchange = provocations.renewed(stage, usual("renewLeases", stage))
    [_, refused] = exchange.answer.json()["leases"]
    compare("problems", Kind.STALE_LEASE.slug, steadied(refused["problem"]))


def answered_as_documented(outcome: Outcome, exchange: Exchange) -> None:
    answer, is_problem = exchange.answer, isinstance(outcome, Kind)
    status = outcome.status if isinstance(outcome, Kind) else outcome[0]
    assert answer.status_code == status, answer.content
    foretold = documented(exchange.call.operation)["responses"][str(status)]
    if "content" in foretold:
        media_type = MEDIA_TYPE if is_problem else JSON
        assert answer["Content-Type"] == media_type
        require_valid(foretold["content"][media_type]["schema"], answer.json())
    else:
        assert answer.content == b""
    for name, header in foretold.get("headers", {}).items():
        assert name in answer or not header["required"], f"{name} is missing"
        if name in answer:
            require_valid(header["schema"], as_typed(answer[name], header["schema"]))
    if isinstance(outcome, Kind):
        assert answer.json()["type"] == f"/problems/{outcome.slug}"
        if exchange.call.operation == first_with(outcome):
            compare("problems", outcome.slug, steadied(answer.json()))
    else:
        compare("operations", exchange.call.operation, outcome[1], told(exchange))


def documented(operation: str) -> dict[str, Any]:
    method, path = PLACES[operation]
    found: dict[str, Any] = document()["paths"][path][method.lower()]
    return found


def first_with(kind: Kind) -> str:
    """The operation whose answer is the example of that kind."""
    return next(operation for operation, row in TABLE.items() if kind in row)


def as_typed(header: str, schema: dict[str, Any]) -> Any:
    return int(header) if schema["type"] == "integer" else header


def require_valid(schema: dict[str, Any], value: Any) -> None:
    whole = {**schema, "components": document()["components"]}
    validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    faults = [f"{list(one.instance_path)}: {one.message}" for one in validator.iter_errors(value)]
    assert not faults, "\n".join(faults)


def compare(*path_and_value: Any) -> None:
    """The record at that path is that value; while recording, let it be."""
    *path, name, value = path_and_value
    recorded = json.loads(RECORDS.read_text())
    place = recorded
    for part in path:
        place = place.setdefault(part, {})
    if RECORD:
        place[name] = value
        RECORDS.write_text(json.dumps(recorded, indent=1) + "\n")
    assert place.get(name) == value, "The API answers otherwise now. If it should: make examples."


# The document


def listed() -> Iterator[tuple[str, str]]:
    """Every pair of operation and outcome in it: statuses of successes, kinds of problems."""
    for operation in PLACES:
        for status, response in documented(operation)["responses"].items():
            problems = response.get("content", {}).get(MEDIA_TYPE)
            if problems is None:
                yield operation, status
            else:
                for slug in problems["examples"]:
                    yield operation, slug


def test_the_table_has_what_the_document_lists_and_no_more() -> None:
    table = {
        (operation, outcome.slug if isinstance(outcome, Kind) else str(outcome[0]))
        for operation, outcome, _ in ROWS
    }
    assert table == set(listed())


def test_every_operation_shows_what_is_sent_and_every_success() -> None:
    for operation in PLACES:
        shown = documented(operation)
        if "requestBody" in shown:
            assert shown["requestBody"]["content"][JSON]["examples"], operation
        assert all(
            response["content"][JSON]["examples"]
            for response in shown["responses"].values()
            if JSON in response.get("content", {})
        ), operation
        assert all("example" in one for one in shown["parameters"] if one["required"]), operation


def test_every_example_has_its_schema() -> None:
    for operation in PLACES:
        shown = documented(operation)
        for carrier in (shown.get("requestBody", {}), *shown["responses"].values()):
            for content in carrier.get("content", {}).values():
                for example in content["examples"].values():
                    require_valid(content["schema"], example.get("value", PROBLEM))
        for parameter in shown["parameters"]:
            if "example" in parameter:
                schema = parameter["schema"]
                require_valid(schema, as_typed(parameter["example"], schema))


PROBLEM = {"type": "/problems/not-found", "title": "", "status": 404, "detail": "", "instance": ""}
"""Stands for those that are referred to, which are looked at by themselves."""


def test_every_kind_of_problem_has_an_example() -> None:
    shown = document()["components"]["examples"]
    assert set(shown) == {kind.slug for kind in Kind}
    for kind in Kind:
        value = shown[kind.slug]["value"]
        assert (value["status"], value["title"]) == (kind.status, kind.title)
        require_valid({"$ref": "#/components/schemas/Problem"}, value)


def test_nothing_is_recorded_that_the_table_does_not_know() -> None:
    recorded = json.loads(RECORDS.read_text())["operations"]
    successes = {
        (operation, outcome[1]) for operation, outcome, _ in ROWS if not isinstance(outcome, Kind)
    }
    assert {
        (operation, name) for operation in recorded for name in recorded[operation]
    } == successes
