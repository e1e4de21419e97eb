"""The published document and the API agree: whatever is sent, the answer is one that the document foretells.

Requests are made up from the document, valid ones and broken ones, singly and in chains along its links;
always the same ones, because a test that fails once must fail again.
"""

import json
from collections import Counter
from typing import Any
from uuid import uuid4

import pytest
import schemathesis
from django.test import Client
from hypothesis import HealthCheck, Phase, assume, given, settings
from schemathesis.checks import (
    content_type_conformance,
    negative_data_rejection,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from schemathesis.generation import GenerationMode

from config.wsgi import application
from scheduling.api.v1.openapi import document
from scheduling.api.v1.urls import urlpatterns
from tenants.models import ApiToken, Tenant

pytestmark = pytest.mark.django_db(transaction=True)

ALWAYS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ALONE = [*ALWAYS, negative_data_rejection, unsupported_method]
THE_SAME = settings(
    max_examples=60,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


ABOUT_ITSELF = {"/v1/openapi.json", "/v1/docs"}
SCHEMA: Any = schemathesis.openapi.from_dict(json.loads(json.dumps(document())))
"""As a client reads it: links that are added to one answer must not appear in others that share its parts."""
SCHEMA.app = application
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]


def authorization(tenant: Tenant) -> dict[str, str]:
    return {"Authorization": f"Bearer {ApiToken.objects.issue(tenant=tenant)[1]}"}


WHAT_THERE_IS = {
    "name": "demo.echo",
    "task_name": "demo.echo",
    "cron": "*/5 * * * *",
    "timezone": "Europe/Berlin",
}


def ask_for_what_there_is(body: Any) -> None:
    """What is made up is refused before anything else is read."""
    if isinstance(body, dict):
        for asked in (body, *body.get("tasks", ())):
            asked.update((name, value) for name, value in WHAT_THERE_IS.items() if asked.get(name))


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_every_answer_is_one_that_the_document_foretells(
    operation: Any, mode: GenerationMode, tenant_a: Tenant
) -> None:
    if mode is GenerationMode.NEGATIVE and not (
        operation.body or list(operation.iter_parameters())
    ):
        return

    headers = authorization(tenant_a)

    @THE_SAME
    @given(case=operation.as_strategy(generation_mode=mode))
    def is_foretold(case: Any) -> None:
        assume(all(value not in ([], {}) for value in case.query.values()))  # these are never sent
        if mode is GenerationMode.POSITIVE:
            ask_for_what_there_is(case.body)
        case.call_and_validate(checks=ALONE, headers=headers)

    is_foretold()


AROUND: dict[str, list[tuple[str, int]]] = {
    "^/v1/(tasks|dead-letters)": [
        ("POST /v1/tasks", 201),
        ("POST /v1/tasks/{task_id}/cancel", 200),
    ],
    r"^/v1/(recurring-tasks|tasks/\{task_id\}$)": [
        ("POST /v1/recurring-tasks", 201),
        ("GET /v1/recurring-tasks/{recurring_task_id}", 200),
    ],
    "": [],
}
"""The paths that chains keep to, and what they reach there: among all of them, which links they follow is chance."""


@pytest.mark.timeout(180)  # hundreds of requests
@pytest.mark.parametrize("paths", AROUND)
def test_chains_of_requests_along_the_links_hold_too(paths: str) -> None:
    reached: Counter[tuple[str, int]] = Counter()
    around = SCHEMA.include(path_regex=paths) if paths else SCHEMA

    class Chain(around.as_state_machine()):  # type: ignore[misc]
        def setup(self) -> None:
            """A tenant of its own for each chain: what came before must not matter to it."""
            tenant = Tenant.objects.create(slug=uuid4().hex)
            self.headers = authorization(tenant)

        def before_call(self, case: Any) -> None:
            """Ask for a task that there is; a made-up name is refused, and the chain at its end."""
            case.query.pop("wait", None)  # nobody works here
            if case.operation.label == "POST /v1/tasks":
                case.body = {"name": "demo.echo", "payload": {"made": str(case.body)[:100]}}
            if case.operation.label == "POST /v1/recurring-tasks":
                case.body = WHAT_THERE_IS | {"name": f"r-{uuid4()}"}

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": self.headers}

        def validate_response(self, response: Any, case: Any, **options: Any) -> None:
            reached[case.operation.label, response.status_code] += 1
            case.validate_response(response, checks=ALWAYS)

    Chain.run(settings=settings(THE_SAME, max_examples=40, stateful_step_count=8))
    for accepted in AROUND[paths]:
        assert reached[accepted], reached  # or the chains were never longer than one request


def test_the_document_is_published_to_anybody(client: Client) -> None:
    assert client.get("/v1/openapi.json").json() == document()


def test_every_address_of_the_api_is_in_the_document() -> None:
    listed = {
        f"/{pattern.pattern}".replace("<str:", "{").replace(">", "}") for pattern in urlpatterns
    }
    assert {f"/v1{path}" for path in listed} - ABOUT_ITSELF == set(document()["paths"])
