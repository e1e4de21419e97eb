"""A client's `traceparent` stays with its tasks, and goes to who runs them: no other package is needed for that."""

from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from pytest_django import Settings

from scheduling.models import Task
from scheduling.testing import run_due_tasks
from tests.api.kit import Api
from tests.builtin.receiver import receiver_on_loopback

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]
SENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def kept() -> list[str | None]:
    return list(Task.objects.order_by("pk").values_list("trace_context", flat=True))


def test_it_is_kept_with_the_task(api_a: Api) -> None:
    body = {"name": "demo.echo", "payload": {"message": "hello"}}
    assert api_a.post("/v1/tasks", body, traceparent=SENT).status_code == 201
    batch = api_a.post("/v1/tasks/batch", {"tasks": [body, body]}, traceparent=SENT)
    assert batch.status_code == 201
    assert kept() == [SENT] * 3


@pytest.mark.parametrize("sent", ["nonsense", SENT.upper(), f"{SENT}-more"])
def test_one_that_is_invalid_is_left_out(api_a: Api, sent: str) -> None:
    body = {"name": "demo.echo", "payload": {"message": "hello"}}
    assert api_a.post("/v1/tasks", body, traceparent=sent).status_code == 201
    assert kept() == [None]


def test_a_repeated_request_is_the_same_one_in_another_trace(api_a: Api) -> None:
    body = {"name": "demo.echo", "payload": {"message": "hello"}}
    for sent, status in ((SENT, 201), (OTHER, 200)):
        answer = api_a.post("/v1/tasks", body, traceparent=sent, idempotency_key="order-1")
        assert answer.status_code == status
    assert kept() == [SENT]


def test_where_the_server_is_traced_its_own_span_comes_next(api_a: Api) -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("tests")
    body = {"name": "demo.echo", "payload": {"message": "hello"}}
    with tracer.start_as_current_span("POST /v1/tasks") as span:
        api_a.post("/v1/tasks", body, traceparent=SENT)
    (told,) = kept()
    assert told is not None
    assert told.split("-")[2] == f"{span.get_span_context().span_id:016x}"


def test_a_remote_worker_is_told(api_a: Api, settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"REMOTE_QUEUES": ["films"]}
    for headers in ({"traceparent": SENT}, {}):
        api_a.post("/v1/tasks", {"name": "film.cut", "queue": "films"}, **headers)
    claimed = api_a.post("/v1/leases", {"max": 2}).json()
    assert [work["traceparent"] for work in claimed["tasks"]] == [SENT, None]


@pytest.mark.parametrize(("own", "received"), [({}, SENT), ({"traceparent": OTHER}, OTHER)])
def test_http_request_passes_it_on_unless_the_tenant_sends_one(
    api_a: Api, settings: Settings, own: dict[str, Any], received: str
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"HTTP_ALLOW_PRIVATE_ADDRESSES": ["127.0.0.0/8"]}
    with receiver_on_loopback() as receiver:
        body = {"name": "http.request", "payload": {"url": receiver.url, "headers": own}}
        api_a.post("/v1/tasks", body, traceparent=SENT)
        run_due_tasks()
        (request,) = receiver.received
    assert request.headers["traceparent"] == received
