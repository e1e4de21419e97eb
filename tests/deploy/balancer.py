"""What stands in front of the web servers, and the clients in front of that."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event, Lock
from typing import Any

import httpx

from tests.waiting import until

LOOK = 0.05
"""Seconds between two looks at /readyz."""
PAUSE = 0.02
"""Seconds for which each client does nothing between two tasks."""
PATIENCE = 60
TOKEN = {"Authorization": "Bearer token-tenant-a"}


class Server:
    def __init__(self, url: str) -> None:
        self.url = url
        self.is_ready = False
        self.under_way = 0


class NobodyIsReady(Exception):
    """Nothing but the balancer itself could answer."""


class Balancer:
    """Shares requests out among the servers that say they are ready, one after the other, and repeats none."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._servers: dict[str, Server] = {}

    def add(self, url: str) -> None:
        """Returns when it is ready."""
        server = self._servers[url] = Server(url)
        until(lambda: server.is_ready, seconds=PATIENCE, what=f"for {url} to be ready")

    def let_go(self, url: str) -> None:
        """Of one that was told to stop. Returns when it has said so, and has answered all that it was sent."""
        server = self._servers[url]
        until(
            lambda: not server.is_ready and not server.under_way,
            seconds=PATIENCE,
            what=f"for {url} to leave",
        )
        with self._lock:
            del self._servers[url]

    @contextmanager
    def server(self) -> Iterator[str]:
        """The address of the one whose turn it is. Raises NobodyIsReady."""
        with self._lock:
            ready = [url for url, one in self._servers.items() if one.is_ready]
            if not ready:
                raise NobodyIsReady
            url = ready[0]
            server = self._servers[url] = self._servers.pop(url)  # the others come first next time
            server.under_way += 1
        try:
            yield url
        finally:
            with self._lock:
                server.under_way -= 1

    def watch(self, over: Event) -> None:
        """Ask each server whether it is ready, again and again."""
        with httpx.Client(timeout=PATIENCE) as client:
            while not over.wait(LOOK):
                for server in list(self._servers.values()):
                    is_ready = is_it_ready(client, server.url)
                    with self._lock:
                        server.is_ready = is_ready


def is_it_ready(client: httpx.Client, url: str) -> bool:
    try:
        return client.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


class Load:
    """Clients that enqueue and read all the time, and write down whatever they are not answered as they should be."""

    def __init__(self, balancer: Balancer) -> None:
        self._balancer = balancer
        self.accepted: list[str] = []
        self.complaints: list[str] = []
        self.seen_by: set[str] = set()
        """Which releases have run what was read, since somebody last emptied this."""

    def run(self, client: str, over: Event) -> None:
        """One client. Each task has a key of its own; every third is sent twice, as by somebody who is not sure."""
        limits = httpx.Limits(max_keepalive_connections=0)
        with httpx.Client(headers=TOKEN, timeout=PATIENCE, limits=limits) as http:
            for number in count():
                if over.wait(PAUSE):
                    return
                body = {"name": "demo.echo", "payload": {"number": number}}
                key = {"Idempotency-Key": f"{client}-{number}"}
                task = self._ask(http, 201, "POST", "/v1/tasks", json=body, headers=key)
                if number % 3 == 0:
                    again = self._ask(http, 200, "POST", "/v1/tasks", json=body, headers=key)
                    if again.get("id") != task.get("id"):
                        self.complaints.append(f"{key} stands for {task} and {again}")
                self._read(http)
                self.accepted += [task["id"]] if task else []

    def _read(self, http: httpx.Client) -> None:
        recent = self.accepted[-20:]
        if recent:
            task = self._ask(http, 200, "GET", f"/v1/tasks/{random.choice(recent)}")
            if task.get("state") == "succeeded":
                self.seen_by.add(task["result"].get("by", "older"))

    def _ask(self, http: httpx.Client, expected: int, method: str, path: str, **more: Any) -> Any:
        """The answer's JSON, or nothing and a complaint."""
        try:
            with self._balancer.server() as url:
                answer = http.request(method, f"{url}{path}", **more)
        except (httpx.TransportError, NobodyIsReady) as error:
            self.complaints.append(f"{method} {path}: {error!r}")
            return {}
        if answer.status_code != expected:
            self.complaints.append(f"{method} {path}: {answer.status_code} {answer.text}")
            return {}
        return answer.json()

    def goes_on(self, more: int = 20) -> None:
        """Returns when so many more were accepted."""
        enough = len(self.accepted) + more
        until(lambda: len(self.accepted) >= enough, seconds=PATIENCE, what="for the load to go on")

    def until_run_by(self, *releases: str) -> None:
        """Returns when something that was read from now on was run by each of these."""
        self.seen_by.clear()
        until(lambda: self.seen_by >= set(releases), seconds=PATIENCE, what=f"for {releases}")
