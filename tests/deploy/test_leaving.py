"""A web server that is told to stop: first it says so, then it lets end what it has begun, and nobody is left hanging."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.deploy.balancer import TOKEN
from tests.deploy.releases import WebServer, older_release
from tests.installation import Installation
from tests.waiting import until

pytestmark = pytest.mark.timeout(120)

Start = Callable[..., WebServer]
BODY = b'{"name": "demo.echo"}'


@pytest.fixture
def start(installation: Installation, tmp_path: Path) -> Iterator[Start]:
    release = older_release(installation)
    started: list[WebServer] = []

    def start(**environment: str) -> WebServer:
        installation.environment |= {"PORT": "0", **environment}
        release.run("bootstrap")
        server = WebServer(release, tmp_path / "web.log")
        started.append(server)
        until(lambda: server.url, seconds=60, what="for the server to listen")
        assert httpx.get(f"{server.url}/readyz", timeout=60).status_code == 200
        return server

    yield start
    for server in started:
        server.kill_all()
        print(server.said())  # noqa: T201  # pytest shows it on failure


def test_one_that_is_leaving_says_so_and_takes_requests_as_ever(start: Start) -> None:
    server = start(WEB_CONCURRENCY="1", WEB_SECONDS_TO_LEAVE="600")
    with httpx.Client(base_url=server.url, headers=TOKEN, timeout=60) as api:
        before = api.post("/v1/tasks", json={"name": "demo.echo"})
        assert before.headers["Connection"] == "keep-alive"
        server.terminate()
        until(lambda: api.get("/readyz").status_code == 503, seconds=60)
        assert "being stopped" in api.get("/readyz").json()["detail"]
        after = api.post("/v1/tasks", json={"name": "demo.echo"})
        assert (after.status_code, after.headers["Connection"]) == (201, "close")
        assert api.get("/healthz").status_code == 200
    server.leave_now()
    server.wait()


def test_whoever_is_connected_is_answered_and_nobody_else_is_kept_waiting(start: Start) -> None:
    server = start(WEB_CONCURRENCY="2")
    address = (urlsplit(server.url).hostname, urlsplit(server.url).port)
    task = httpx.post(f"{server.url}/v1/tasks", headers=TOKEN, json={"name": "demo.echo"}).json()
    with (
        socket.create_connection(address, timeout=60) as waiting,
        socket.create_connection(address, timeout=60) as sending,
    ):
        waiting.sendall(request("GET", f"/v1/tasks/{task['id']}?wait=30"))
        sending.sendall(request("POST", "/v1/tasks", BODY)[: -len(BODY)])
        server.terminate()
        until(lambda: is_refused(address), seconds=60)
        sending.sendall(BODY)
        assert first_line(sending) == b"HTTP/1.1 201 Created"
        assert first_line(waiting) == b"HTTP/1.1 200 OK"
    server.wait()


def request(method: str, path: str, body: bytes = b"") -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer token-tenant-a\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def is_refused(address: Any) -> bool:
    try:
        socket.create_connection(address, timeout=60).close()
    except ConnectionRefusedError:
        return True
    return False


def first_line(client: socket.socket) -> bytes:
    with client.makefile("rb") as answer:
        return answer.readline().rstrip()
