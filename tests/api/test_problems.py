"""Every kind of problem, in the form of RFC 9457; and no 5xx but for trouble of our own."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import InterfaceError, InternalError, OperationalError
from pytest_django import Settings

from scheduling import clock, errors, ledger
from scheduling.api.v1 import trouble
from scheduling.api.v1.coming_back import whole_seconds
from scheduling.api.v1.problems import problem_of
from scheduling.models import Task
from tenants.models import ApiToken, Tenant
from tests.api.kit import JSON, Api, faults, problem

pytestmark = pytest.mark.django_db


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Let the ledger fail in that way from now on."""

    def fail_with(error: Exception) -> None:
        def enqueue(*args: object, **options: object) -> Any:
            raise error

        monkeypatch.setattr(ledger, "enqueue", enqueue)

    return fail_with


def test_a_full_system_says_when_to_come_back(
    api_a: Api, fault: Callable[[Exception], None]
) -> None:
    fault(errors.Overloaded("The disk is nearly full.", retry_after=timedelta(seconds=5)))
    answer = api_a.enqueue()
    assert problem(answer) == (503, "temporary-reduced-capacity")
    assert answer["Retry-After"] == "5"
    assert answer["RateLimit-Policy"] == '"capacity";q=0;w=5'
    assert answer["RateLimit"] == '"capacity";r=0;t=5'
    assert answer.json()["detail"] == "The disk is nearly full. Try again in 5 s."


def test_trouble_that_many_requests_meet_is_logged_with_its_cause_and_not_for_each(
    api_a: Api,
    fault: Callable[[Exception], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seconds = clock.monotonic() + 2 * trouble.TELL_EVERY
    monkeypatch.setattr(clock, "monotonic", lambda: seconds)
    fault(OperationalError("disk I/O error"))
    for _ in range(50):
        assert api_a.enqueue().status_code == 503
    assert caplog.text.count("disk I/O error") == len(caplog.records) == 1

    seconds += trouble.TELL_EVERY
    api_a.enqueue()
    assert "(49 more since the last line)" in caplog.text
    assert len(caplog.records) == 2


# Who is calling


def test_no_token_is_asked_for_one(db: None) -> None:
    for address in ("/v1/tasks", f"/v1/tasks/{uuid4()}", "/v1/execution-control"):
        answer = Api().get(address)
        assert problem(answer) == (401, "unauthenticated")
        assert answer["WWW-Authenticate"] == 'Bearer realm="rentroll"'


@pytest.mark.parametrize("header", ["Bearer nobody", "Bearer", "Basic dTpw", "Bearer \u00e9"])
def test_a_token_that_opens_nothing_is_told_so(header: str) -> None:
    answer = Api().get("/v1/tasks", authorization=header)
    assert problem(answer) == (401, "unauthenticated")
    assert answer["WWW-Authenticate"] == 'Bearer realm="rentroll", error="invalid_token"'


def test_the_body_of_a_stranger_is_not_even_read() -> None:
    assert problem(Api().post("/v1/tasks", "[" * 100_000)) == (401, "unauthenticated")


def test_a_revoked_token_is_refused_from_the_next_request_on(api_a: Api, tenant_a: Tenant) -> None:
    assert api_a.get("/v1/tasks").status_code == 200
    ApiToken.objects.filter(tenant=tenant_a).revoke(clock.now())
    assert problem(api_a.get("/v1/tasks")) == (401, "unauthenticated")


# What is at an address


@pytest.mark.parametrize(
    "address",
    [
        "/v1",
        "/v1/",
        "/v1/nope",
        "/v1/tasks/",
        "/v1/tasks/x/y/z",
        "/nope",
        "/v2/tasks",
        "/healthz/",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH"])
def test_nothing_at_an_address_is_a_problem(api_a: Api, method: str, address: str) -> None:
    assert problem(api_a.send(method, address, {})) == (404, "not-found")


@pytest.mark.parametrize("address", ["/v1/nope", "/nope", "/v2/tasks", "/metricz"])
def test_with_debug_on_the_api_still_answers_in_json(
    api_a: Api, settings: Settings, address: str
) -> None:
    settings.DEBUG = True
    assert problem(api_a.get(address)) == (404, "not-found")


def test_the_console_is_found_without_its_slash(api_a: Api) -> None:
    answer = api_a.get("/admin")
    assert (answer.status_code, answer["Location"]) == (301, "/admin/")


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("/v1/tasks", {"GET", "POST", "HEAD", "OPTIONS"}),
        ("/v1/tasks/x", {"GET", "HEAD", "OPTIONS"}),
        ("/v1/tasks/x/cancel", {"POST", "OPTIONS"}),
        ("/v1/tasks/x/redrive", {"POST", "OPTIONS"}),
        ("/v1/execution-control", {"GET", "PUT", "HEAD", "OPTIONS"}),
        ("/healthz", {"GET", "HEAD", "OPTIONS"}),
        ("/readyz", {"GET", "HEAD", "OPTIONS"}),
        ("/metrics", {"GET", "HEAD", "OPTIONS"}),
    ],
)
def test_another_method_is_told_those_that_are_allowed(
    api_a: Api, address: str, allowed: set[str]
) -> None:
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} - allowed:
        answer = api_a.send(method, address)
        assert problem(answer) == (405, "method-not-allowed"), method
        assert set(answer["Allow"].split(", ")) == allowed
    options = api_a.send("OPTIONS", address)
    assert (options.status_code, options.content) == (204, b"")
    assert set(options["Allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    "accept", ["text/html", "application/xml, text/*", "image/png", "application/json;q=0"]
)
def test_a_client_that_takes_no_json_is_refused(api_a: Api, accept: str) -> None:
    assert problem(api_a.get("/v1/tasks", accept=accept)) == (406, "not-acceptable")


@pytest.mark.parametrize(
    "accept",
    [
        "",
        "*/*",
        "application/*",
        JSON,
        "application/problem+json",
        "application/json; charset=utf-8",
        "text/html, application/json;q=0.1",
    ],
)
def test_a_client_that_takes_json_is_served(api_a: Api, accept: str) -> None:
    answer = api_a.get("/v1/tasks", accept=accept)
    assert (answer.status_code, answer["Content-Type"]) == (200, JSON)


@pytest.mark.parametrize(
    "address", ["/v1/tasks?state=queued&state=dead", "/v1/queues?after=a&after=a"]
)
def test_a_query_that_says_something_twice_is_refused(api_a: Api, address: str) -> None:
    [said] = faults(api_a.get(address)).values()
    assert said == "is there more than once"


@pytest.mark.parametrize(
    ("method", "address"),
    [
        ("POST", "/v1/tasks?queue=mail"),
        ("POST", "/v1/dead-letters/discard?name=demo.echo"),
        ("GET", f"/v1/tasks/{UUID(int=7)}/explain?verbose=1"),
        ("HEAD", f"/v1/tasks/{UUID(int=7)}/explain?verbose=1"),
    ],
)
def test_a_query_that_nobody_reads_is_refused_and_nothing_is_done(
    api_a: Api, method: str, address: str
) -> None:
    body: dict[str, Any] = (
        {"name": "demo.echo"} if address.startswith("/v1/tasks?") else {"filter": {}}
    )
    answer = api_a.send(method, address, body if method == "POST" else "")
    assert answer.status_code == 400
    assert not Task.objects.exists()


def test_a_host_that_is_not_ours_is_told_so(api_a: Api) -> None:
    answer = api_a.get("/v1/tasks", host="elsewhere.example")
    assert problem(answer) == (400, "malformed-request")
    assert "Host" in answer.json()["detail"]


def test_head_says_what_get_would_without_saying_it(api_a: Api) -> None:
    get, head = api_a.get("/v1/tasks"), api_a.send("HEAD", "/v1/tasks")
    assert (head.status_code, head.content) == (200, b"")
    assert head["Content-Length"] == get["Content-Length"]


def test_the_clients_name_for_its_request_comes_back_if_it_is_harmless(api_a: Api) -> None:
    assert api_a.get("/v1/tasks", x_request_id="r-1.A_b")["X-Request-ID"] == "r-1.A_b"
    assert api_a.get("/v1/tasks/x", x_request_id="r2")["X-Request-ID"] == "r2"
    for harmful in ("a b", "<b>", "x" * 129, ""):
        assert "X-Request-ID" not in api_a.get("/v1/tasks", x_request_id=harmful)


def test_an_instance_is_a_uri_whatever_was_asked(api_a: Api) -> None:
    instance = api_a.get("/v1/tasks/%E2%80%AE<b>%ff").json()["instance"]
    assert instance.isascii()
    assert "<" not in instance


# Trouble of our own


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("database or disk is full"),
        OperationalError("server closed the connection unexpectedly"),
        InterfaceError("connection already closed"),
        InternalError("cannot execute INSERT in a read-only transaction"),
    ],
)
def test_a_ledger_in_trouble_is_503_and_says_when_to_come_back(
    api_a: Api, fault: Callable[[Exception], None], error: Exception
) -> None:
    fault(error)
    answer = api_a.enqueue()
    assert problem(answer) == (503, "unavailable")
    assert int(answer["Retry-After"]) >= 1
    assert answer["RateLimit"] == f'"capacity";r=0;t={answer["Retry-After"]}'
    assert str(error) not in answer.content.decode()


def test_a_key_does_not_turn_trouble_into_a_conflict(
    api_a: Api, fault: Callable[[Exception], None]
) -> None:
    fault(OperationalError("database or disk is full"))
    assert problem(api_a.enqueue(key="k")) == (503, "unavailable")
    fault(OperationalError("database is locked"))
    assert problem(api_a.enqueue(key="k")) == (409, "idempotency-key-in-use")
    assert problem(api_a.enqueue()) == (503, "unavailable")


def test_a_database_that_does_not_answer_the_look_up_of_a_token_is_503(
    api_a: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*args: object) -> Any:
        raise OperationalError("connection refused")

    monkeypatch.setattr("tenants.models.ApiTokenQuerySet.with_secret", gone)
    assert problem(api_a.get("/v1/tasks")) == (503, "unavailable")


def test_a_fault_of_ours_tells_nothing_of_itself(
    api_a: Api, fault: Callable[[Exception], None], caplog: pytest.LogCaptureFixture
) -> None:
    fault(RuntimeError("the secret sauce"))
    answer = api_a.enqueue()
    assert problem(answer) == (500, "internal-error")
    assert "sauce" not in answer.content.decode()
    assert "the secret sauce" in caplog.text


def test_with_debug_on_a_fault_of_ours_is_told_in_the_same_words_and_logged_without_the_token(
    tenant_a: Tenant,
    fault: Callable[[Exception], None],
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.DEBUG = True
    secret = ApiToken.objects.issue(tenant=tenant_a)[1]
    fault(RuntimeError("boom"))
    answer = Api(secret).enqueue()
    assert problem(answer) == (500, "internal-error")
    assert "boom" not in answer.content.decode()
    assert caplog.text.count("RuntimeError: boom") == 1
    assert secret not in caplog.text


def test_the_console_keeps_its_pages(client: Any) -> None:
    answer = client.get("/admin/nope/")
    assert answer["Content-Type"].startswith("text/html")


# The table


def test_every_error_a_client_can_cause_is_in_the_table() -> None:
    """The others are raised by handlers, or speak to programmers."""
    inward = {
        errors.RentrollError,
        errors.PermanentFailure,
        errors.RetryAfter,
        errors.Snoozed,
        errors.TenantRequired,
        errors.UnknownHandler,
    }
    nobody_foresaw = problem_of.dispatch(BaseException)
    known = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.RentrollError)
    }
    assert {kind for kind in known if problem_of.dispatch(kind) is nobody_foresaw} == inward


@pytest.mark.parametrize(
    ("delay", "seconds"), [(0.0, 1), (0.001, 1), (1.0, 1), (1.001, 2), (59.5, 60)]
)
def test_waits_are_whole_seconds_and_never_too_short(delay: float, seconds: int) -> None:
    assert whole_seconds(timedelta(seconds=delay)) == seconds


def test_every_answer_is_one_compact_line(api_a: Api) -> None:
    """Of whatever made it: an address that is none never comes to REST framework."""
    for answer in (api_a.get("/v1/limits"), api_a.get("/v1/nowhere"), api_a.get("/v1/tasks/none")):
        text = answer.content.decode()
        compact = json.dumps(answer.json(), separators=(",", ":"), ensure_ascii=False)
        assert text == f"{compact}\n"
