"""The remote workers of docs/examples, when they are told to stop: by a server that answers when the test wants it to."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import parse_headers
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
COMMANDS = {
    "python": [sys.executable, str(EXAMPLES / "worker.py"), "films"],
    "node": ["node", str(EXAMPLES / "worker.mjs"), "films"],
}
SIGNALS = [signal.SIGINT, signal.SIGTERM]
TASK = {"id": "one", "generation": 1, "name": "film.cut", "payload": {"reel": 7}}

Worker = subprocess.Popen[str]


class Request:
    """One of the worker's, on a connection of its own."""

    def __init__(self, server: socket.socket) -> None:
        self._connection, _ = server.accept()
        self._connection.settimeout(40)
        with self._connection.makefile("rb") as said:
            self.path = said.readline().decode().split()[1]
            self.body = json.loads(said.read(int(parse_headers(said)["Content-Length"])))

    def answer(self, said: dict[str, Any]) -> None:
        body = json.dumps(said)
        head = f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        self._connection.sendall((head + body).encode())
        self.close()

    def close(self) -> None:
        self._connection.close()


@contextmanager
def waiting(language: str) -> Iterator[tuple[Worker, Request, socket.socket]]:
    """A worker that waits for the answer to its first claim, and who is asked the next."""
    if not shutil.which(COMMANDS[language][0]):
        pytest.skip("node is not on PATH, so the worker in JavaScript cannot be run")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(40)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        environment = {**os.environ, "RENTROLL_URL": url, "RENTROLL_TOKEN": "token"}
        with subprocess.Popen(
            COMMANDS[language], env=environment, stderr=subprocess.PIPE, text=True
        ) as worker:
            try:
                with closing(Request(server)) as claim:
                    assert claim.path == "/v1/leases"
                    yield worker, claim, server
            finally:
                worker.kill()


@pytest.mark.parametrize("signum", SIGNALS)
@pytest.mark.parametrize("language", COMMANDS)
def test_one_without_a_task_ends_when_its_wait_is_over(
    language: str, signum: signal.Signals
) -> None:
    with waiting(language) as (worker, claim, _):
        worker.send_signal(signum)
        claim.answer({"worker": "w", "tasks": []})
        _, complaint = worker.communicate(timeout=40)
    assert (worker.returncode, complaint) == (0, "")


@pytest.mark.parametrize("signum", SIGNALS)
@pytest.mark.parametrize("language", COMMANDS)
def test_what_comes_for_one_that_is_to_stop_is_settled(
    language: str, signum: signal.Signals
) -> None:
    with waiting(language) as (worker, claim, server):
        worker.send_signal(signum)
        claim.answer({"worker": "w", "tasks": [TASK]})
        settling = Request(server)
        settling.answer({"leases": [{"state": "succeeded"}]})
        _, complaint = worker.communicate(timeout=40)
    assert settling.path == "/v1/leases/settle"
    assert [one["outcome"] for one in settling.body["leases"]] == ["succeeded"]
    assert (worker.returncode, complaint) == (0, "")


@pytest.mark.parametrize("signum", SIGNALS)
@pytest.mark.parametrize("language", COMMANDS)
def test_one_that_is_told_twice_ends_at_once(language: str, signum: signal.Signals) -> None:
    def told_again() -> bool:
        worker.send_signal(signum)
        return worker.poll() is not None

    with waiting(language) as (worker, _, _):
        until(told_again)
        _, complaint = worker.communicate(timeout=40)
    assert (worker.returncode, complaint) == (-signum, "")
