"""Hundreds of clients wait on one web process: they are held, released, hang up, and are let go when it stops."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from select import select
from typing import Any

import httpx
import psycopg
import pytest

from tests.faults.flood import address_of, children, command_line
from tests.installation import installation_with_tables
from tests.waiting import until

MANY = 200
PLACES = 4
OF_ITS_OWN = 2
"""Threads: one that looks for those who wait, and one that stands at SQLite's write gate."""
FEW = 20
"""Connections to the database: more than the server and its workers ever have."""


@dataclass
class Server:
    """With one web process, which is another one after it was stopped."""

    url: str
    api: httpx.Client
    database_url: str | None
    master: int

    @property
    def web(self) -> int:
        (web,) = until(lambda: children(self.master))
        return web

    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.web}/task").iterdir()))

    def is_at_rest(self) -> bool:
        return self.threads() <= 1 + PLACES + OF_ITS_OWN

    def connections(self) -> int:
        """To the database, by everybody. Of an SQLite ledger nobody counts them."""
        if self.database_url is None:
            return 0
        with psycopg.connect(self.database_url) as session:
            counted = session.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            ).fetchone()
        assert counted
        return int(counted[0])

    def enqueue(self, count: int) -> set[str]:
        task = {"name": "film.cut", "queue": "films"}
        answer = self.api.post("/v1/tasks/batch", json={"tasks": [task] * count})
        assert answer.status_code == 201, answer.text
        return {task["id"] for task in answer.json()["tasks"]}


@pytest.fixture(scope="module")
def running(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    installation = installation_with_tables(tmp_path_factory.mktemp("waited-for"))
    environment = {"WEB_CONCURRENCY": "1", "WEB_THREADS": str(PLACES), "REMOTE_QUEUES": "films"}
    headers = {"Authorization": "Bearer token-tenant-a"}
    with (
        installation.serving(**environment) as (url, server),
        httpx.Client(base_url=url, headers=headers, timeout=20) as api,
    ):
        (master,) = [pid for pid in children(server) if b"gunicorn" in command_line(pid)]
        api.get("/healthz")
        yield Server(url, api, installation.database_url, master)


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    """Nothing is left for a waiting client to take, and nobody waits."""
    until(running.is_at_rest)
    yield running
    claimed = running.api.post("/v1/leases", json={"max": 100}).json()
    leases = [
        {"task_id": task["id"], "generation": task["generation"], "outcome": "succeeded"}
        for task in claimed["tasks"]
    ]
    if leases:
        settlement = {"worker": claimed["worker"], "leases": leases}
        assert running.api.post("/v1/leases/settle", json=settlement).status_code == 200


class Crowd:
    """Clients that have all asked the same and wait for the answer."""

    def __init__(self, stack: ExitStack, server: Server, method: str, path: str, body: Any) -> None:
        self.server = server
        text = json.dumps(body)
        request = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer token-tenant-a\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}"
        )
        self.clients: list[socket.socket] = []
        for _ in range(MANY):
            client = socket.create_connection(address_of(server.url), timeout=20)
            self.clients.append(stack.enter_context(client))
            client.sendall(request.encode())
        until(self.all_wait)

    def all_wait(self) -> bool:
        """Each has a thread, which is asleep."""
        return self.server.threads() >= 1 + PLACES + len(self.clients)

    def hang_up(self, count: int) -> None:
        """Those that came first."""
        for client in self.clients[:count]:
            client.close()
        del self.clients[:count]

    def answered(self, count: int) -> list[dict[str, Any]]:
        """What the first of them to be answered are told; they wait no more."""
        answers: list[dict[str, Any]] = []
        while len(answers) < count:
            heard, _, _ = select(self.clients, [], [], 20)
            assert heard, f"{len(answers)} of {count} were answered"
            for client in heard:
                answers.append(answer_to(client))
                self.clients.remove(client)
        return answers


def answer_to(client: socket.socket) -> dict[str, Any]:
    with client, HTTPResponse(client) as response:
        response.begin()
        assert response.status == 200
        return dict(json.load(response))


def test_they_take_no_place_and_no_connection_from_others(server: Server) -> None:
    (task_id,) = server.enqueue(1)
    with ExitStack() as stack:
        crowd = Crowd(stack, server, "GET", f"/v1/tasks/{task_id}?wait=30", None)
        for _ in range(2 * PLACES):
            assert server.api.get(f"/v1/tasks/{task_id}").json()["state"] == "queued"
        assert server.connections() <= FEW
        assert crowd.all_wait()

        assert server.api.post(f"/v1/tasks/{task_id}/cancel").status_code == 200
        assert {answer["state"] for answer in crowd.answered(MANY)} == {"cancelled"}
    assert server.connections() <= FEW


def test_each_task_goes_to_one_of_those_who_wait_for_work(server: Server) -> None:
    with ExitStack() as stack:
        crowd = Crowd(stack, server, "POST", "/v1/leases", {"wait": 30})
        for count in (1, 7):
            enqueued = server.enqueue(count)
            claimed = [task for answer in crowd.answered(count) for task in answer["tasks"]]
            assert {task["id"] for task in claimed} == enqueued
        assert crowd.all_wait()


def test_who_hangs_up_frees_its_seat_and_is_given_nothing(server: Server) -> None:
    with ExitStack() as stack:
        crowd = Crowd(stack, server, "POST", "/v1/leases", {"wait": 30})
        crowd.hang_up(MANY - 3)
        enqueued = server.enqueue(3)
        claimed = [task["id"] for answer in crowd.answered(3) for task in answer["tasks"]]
        assert set(claimed) == enqueued
        until(server.is_at_rest)


def test_they_are_answered_when_their_server_stops(server: Server) -> None:
    (task_id,) = server.enqueue(1)
    with ExitStack() as stack:
        crowd = Crowd(stack, server, "GET", f"/v1/tasks/{task_id}?wait=30", None)
        stopped = server.web
        os.kill(stopped, signal.SIGTERM)
        assert {answer["state"] for answer in crowd.answered(MANY)} == {"queued"}
    until(lambda: stopped not in children(server.master))
