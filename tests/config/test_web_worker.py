"""Who has stood in line for too long is turned away, and only who asks for tasks."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from config.web_worker import BRIEFLY, KNOWN_FOR, SECONDS_IN_LINE, WebWorker, turn_away


@pytest.fixture
def worker() -> WebWorker:
    made: WebWorker = WebWorker.__new__(WebWorker)
    made._too_many_until = 0.0
    return made


def test_a_burst_is_answered_and_a_line_that_grows_is_cut_short(worker: WebWorker) -> None:
    assert not worker._is_late(SECONDS_IN_LINE, now=100.0)
    assert worker._is_late(SECONDS_IN_LINE + 0.01, now=100.0)
    soon = 100.0 + KNOWN_FOR - 0.01
    assert worker._is_late(2 * BRIEFLY, now=soon)
    assert not worker._is_late(BRIEFLY, now=soon)
    assert not worker._is_late(2 * BRIEFLY, now=100.0 + KNOWN_FOR)


def answer_of(path: str, *, late: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Any]:
    """What the worker's application answers, in front of one that knows nothing but its name."""

    def load_wsgi(self: Any) -> None:
        self.wsgi = lambda environ, start_response: ["the application"]

    monkeypatch.setattr("config.web_worker.ThreadWorker.load_wsgi", load_wsgi)
    worker: Any = WebWorker.__new__(WebWorker)
    worker._thread = SimpleNamespace(is_late=late)
    worker.load_wsgi()
    statuses = ["none"]
    body = worker.wsgi({"PATH_INFO": path}, lambda status, headers: statuses.append(status))
    return statuses[-1], body[0]


@pytest.mark.parametrize("path", ["/healthz", "/v1/execution-control", "/v1/leases", "/admin/"])
def test_nobody_else_is_turned_away(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer_of(path, late=True, monkeypatch=monkeypatch) == ("none", "the application")


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/tasks/batch"])
def test_requests_for_tasks_are(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer_of(path, late=False, monkeypatch=monkeypatch) == ("none", "the application")
    status, body = answer_of(path, late=True, monkeypatch=monkeypatch)
    assert status == "503 Service Unavailable"
    assert json.loads(body)["instance"] == path


def test_the_answer_is_a_problem_like_any_other() -> None:
    given: dict[str, str] = {}
    (body,) = turn_away({"PATH_INFO": "/v1/tasks"}, lambda status, headers: given.update(headers))
    assert given["Content-Type"] == "application/problem+json"
    assert given["Content-Length"] == str(len(body))
    assert given["Retry-After"] == "1"
    assert "default-src 'none'" in given["Content-Security-Policy"]
    assert json.loads(body).keys() == {"type", "title", "status", "detail", "instance"}
