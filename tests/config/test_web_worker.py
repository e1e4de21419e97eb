"""Who has stood in line for too long is turned away, and only who asks for tasks."""

import json
import math
import signal
from http.client import HTTPResponse
from socket import socketpair
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.http import errors, parser  # type: ignore[import-untyped]  # no stubs

from config.refusals import turn_away
from config.web_server import SECONDS_IN_LINE
from config.web_worker import (
    BRIEFLY,
    KNOWN_FOR,
    QUICKLY,
    READ_PAST,
    WebWorker,
)

LONG = 2 * BRIEFLY


@pytest.fixture
def worker() -> WebWorker:
    made: WebWorker = WebWorker.__new__(WebWorker)
    made._quick_at = made._too_many_until = 0.0
    return made


def test_a_burst_is_worked_off_and_a_line_that_stays_long_is_cut_short(worker: WebWorker) -> None:
    assert not worker._is_late(QUICKLY, now=100.0)
    assert not worker._is_late(LONG, now=100.0 + SECONDS_IN_LINE)
    assert worker._is_late(LONG, now=100.01 + SECONDS_IN_LINE)
    assert not worker._is_late(BRIEFLY, now=100.02 + SECONDS_IN_LINE)


def test_a_line_that_was_short_for_a_second_may_grow_again(worker: WebWorker) -> None:
    assert worker._is_late(SECONDS_IN_LINE + 0.01, now=100.0)
    assert not worker._is_late(QUICKLY, now=99.9 + KNOWN_FOR)
    assert worker._is_late(LONG, now=99.99 + KNOWN_FOR)
    assert not worker._is_late(LONG, now=100.0 + KNOWN_FOR)


class Request:
    """As gunicorn has read it."""

    def __init__(self, method: str, target: str) -> None:
        self.method = method
        self.path, _, self.query = target.partition("?")
        self.closes = False

    def force_close(self) -> None:
        self.closes = True


def answer_to(
    method: str, target: str, *, late: bool, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, Any, bool]:
    """What the worker's application answers, in front of one that knows nothing but its name."""

    def load_wsgi(self: Any) -> None:
        self.wsgi = lambda environ, start_response: ["the application"]

    def handle_request(self: Any, req: Request, conn: Any) -> Any:
        return self.wsgi({"PATH_INFO": req.path}, lambda status, headers: statuses.append(status))

    statuses, request = ["none"], Request(method, target)
    monkeypatch.setattr("config.web_worker.ThreadWorker.load_wsgi", load_wsgi)
    monkeypatch.setattr("config.web_worker.ThreadWorker.handle_request", handle_request)
    worker: Any = WebWorker.__new__(WebWorker)
    worker._thread = SimpleNamespace(is_late=late, conn=None)
    worker._leaves_at = None
    worker.load_wsgi()
    body = worker.handle_request(request, None)
    return statuses[-1], body[0], request.closes


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/healthz"),
        ("PUT", "/v1/execution-control"),
        ("POST", "/v1/leases"),
        ("GET", "/admin/"),
        ("GET", "/v1/tasks/019a?wait=20"),
    ],
)
def test_nobody_else_is_turned_away(
    method: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = answer_to(method, target, late=True, monkeypatch=monkeypatch)
    assert answered == ("none", "the application", False)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/v1/tasks"),
        ("POST", "/v1/tasks?wait=20"),
        ("POST", "/v1/tasks/batch"),
        ("GET", "/v1/tasks/019a"),
        ("GET", "/v1/tasks?name=wait"),
    ],
)
def test_requests_for_tasks_are(method: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_time = answer_to(method, target, late=False, monkeypatch=monkeypatch)
    assert in_time == ("none", "the application", False)
    status, body, closes = answer_to(method, target, late=True, monkeypatch=monkeypatch)
    assert status == "503 Service Unavailable"
    assert json.loads(body)["instance"] == target.partition("?")[0]
    assert closes, "so that it may find a shorter line"


def test_the_answer_is_a_problem_like_any_other() -> None:
    given: dict[str, str] = {}
    (body,) = turn_away({"PATH_INFO": "/v1/tasks"}, lambda status, headers: given.update(headers))
    assert given["Content-Type"] == "application/problem+json"
    assert given["Content-Length"] == str(len(body))
    assert given["Retry-After"] == "1"
    assert given["RateLimit"] == '"capacity";r=0;t=1'
    assert "default-src 'none'" in given["Content-Security-Policy"]
    assert json.loads(body).keys() == {"type", "title", "status", "detail", "instance"}


@pytest.mark.parametrize(
    ("error", "status", "title", "detail"),
    [
        (errors.InvalidRequestLine("<b>"), 400, "Bad Request", "Invalid Request Line"),
        (errors.LimitRequestLine(9000, 8190), 414, "URI Too Long", "Request Line is too large"),
        (RuntimeError("of ours"), 500, "Internal Server Error", "Internal Server Error"),
    ],
    ids=["no request line", "too long", "a fault"],
)
def test_a_request_that_cannot_be_read_is_refused_with_a_problem_too(
    error: Exception, status: int, title: str, detail: str
) -> None:
    worker: Any = WebWorker.__new__(WebWorker)
    worker.log = SimpleNamespace(warning=str, exception=str)
    client, server = socketpair()
    with client:
        with server:
            worker.handle_error(None, server, ("192.0.2.7", 4711), error)
        answer = HTTPResponse(client)
        answer.begin()
        told = json.loads(answer.read())
    assert (answer.status, answer.reason) == (status, title)
    assert answer.getheader("Content-Type") == "application/problem+json"
    assert "default-src 'none'" in (answer.getheader("Content-Security-Policy") or "")
    assert (told["type"], told["title"], told["status"]) == ("about:blank", title, status)
    assert told["detail"].startswith(detail)


@pytest.mark.parametrize(
    ("status", "body", "closes"),
    [
        ("413 Request Entity Too Large", {"CONTENT_LENGTH": str(READ_PAST + 1)}, True),
        ("401 Unauthorized", {"HTTP_TRANSFER_ENCODING": "chunked"}, True),
        ("401 Unauthorized", {"CONTENT_LENGTH": str(READ_PAST)}, False),
        ("404 Not Found", {}, False),
        ("201 Created", {"CONTENT_LENGTH": str(READ_PAST + 1)}, False),
    ],
)
def test_who_was_refused_with_more_than_is_read_is_told_that_the_connection_ends(
    status: str, body: dict[str, str], closes: bool
) -> None:
    assert READ_PAST == parser._DRAIN_MAX_BYTES
    request, started = Request("POST", "/v1/tasks"), []
    worker: Any = WebWorker.__new__(WebWorker)
    worker._thread = SimpleNamespace(req=request)
    worker._start_response(body, lambda *said: started.append((*said, request.closes)), status, [])
    assert started == [(status, [], closes)]


@pytest.fixture
def leaving(worker: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A worker, as far as it is asked to stop. gunicorn's own stops at once."""
    monkeypatch.setattr(
        "config.web_worker.ThreadWorker.handle_exit",
        lambda self, sig, frame: setattr(self, "alive", False),
    )
    monkeypatch.setattr("config.web_worker.ThreadWorker.notify", lambda self: None)
    worker.alive, worker._leaves_at, worker._waiting, worker._looks_at = True, None, {}, math.inf
    return worker


def stop(worker: Any) -> None:
    worker.handle_exit(signal.SIGTERM, None)


def test_who_is_to_stop_goes_on_until_its_time_is_up(
    leaving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.web_worker.SECONDS_TO_LEAVE", 600.0)
    stop(leaving)
    leaving.notify()
    assert leaving.alive
    leaving._leaves_at -= 600.0
    leaving.notify()
    assert not leaving.alive


@pytest.mark.parametrize(("seconds", "times"), [(600.0, 2), (0.0, 1)])
def test_a_second_time_is_now_and_so_is_the_first_for_one_that_stands_alone(
    seconds: float, times: int, leaving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.web_worker.SECONDS_TO_LEAVE", seconds)
    for _ in range(times):
        assert leaving.alive
        stop(leaving)
    assert not leaving.alive
