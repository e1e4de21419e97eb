"""A flood of requests, what was answered to it, and what it cost the server."""

import json
import math
import selectors
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from scheduling import clock
from tests.waiting import until

TENANTS = ("tenant-a", "tenant-b")
SLEEPER = {"name": "demo.sleep", "payload": {"seconds": 1.0}}
TENANT_MAX_QUEUED, LEDGER_MAX_QUEUED = 100, 190
"""So low that each of two tenants meets its own limit, and then both meet that of all."""
AWAITED = {201, 429, 503}


@dataclass
class Answers:
    """What clients were told."""

    seconds: dict[int, list[float]] = field(default_factory=dict)
    """How long each answer took, by its status."""
    wrong: list[str] = field(default_factory=list)

    def note(self, status: int, seconds: float, retry_after: str | None, text: bytes) -> None:
        self.seconds.setdefault(status, []).append(seconds)
        late = status in (429, 503) and not (retry_after or "").isdecimal()
        if status not in AWAITED or late:
            self.wrong.append(f"{status}, Retry-After {retry_after}: {text[:200]!r}")

    def add(self, other: "Answers") -> None:
        for status, seconds in other.seconds.items():
            self.seconds.setdefault(status, []).extend(seconds)
        self.wrong += other.wrong

    def count(self) -> Counter[int]:
        return Counter({status: len(seconds) for status, seconds in self.seconds.items()})

    def told(self) -> str:
        lines = [
            f"  {status}: {len(seconds)} answers, {spread(seconds)}"
            for status, seconds in sorted(self.seconds.items())
        ]
        return "\n".join([*lines, *self.wrong[:10]])


def spread(seconds: list[float]) -> str:
    return (
        f"p50 {at(seconds, 50):.1f} ms, p99 {at(seconds, 99):.1f} ms, "
        f"longest {max(seconds) * 1000:.1f} ms"
    )


def at(seconds: list[float], percent: int) -> float:
    """That percentile, in milliseconds."""
    ranked = sorted(seconds)
    return ranked[math.ceil(percent / 100 * len(ranked)) - 1] * 1000


def request_of(tenant: str, host: str) -> bytes:
    """What enqueues one task, as it goes over the wire."""
    body = json.dumps(SLEEPER)
    return (
        f"POST /v1/tasks HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer token-{tenant}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


class Client:
    """Sends its request again as soon as it has the answer, on one connection for as long as that lives."""

    def __init__(self, tenant: str, address: tuple[str, int]) -> None:
        self._address = address
        self._request = request_of(tenant, f"{address[0]}:{address[1]}")
        self.connect()

    def connect(self) -> None:
        self.socket = socket.create_connection(self._address, timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self) -> None:
        self._heard, self._sent_at = b"", clock.monotonic()
        with suppress(ConnectionError):  # the server had closed it meanwhile, and hearing tells
            self.socket.sendall(self._request)

    def hear(self, answers: Answers) -> bool | None:
        """Whether the connection is good for another request; None while the answer is not whole."""
        try:
            more = self.socket.recv(65536)
        except ConnectionError:
            more = b""
        self._heard += more
        if not more:
            return False
        head, _, body = self._heard.partition(b"\r\n\r\n")
        fields = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.decode().split("\r\n")[1:])
        }
        if len(body) < int(fields.get("content-length", "1")):
            return None
        took = clock.monotonic() - self._sent_at
        answers.note(int(head[9:12]), took, fields.get("retry-after"), body)
        return fields.get("connection") != "close"


class Flood:
    """Many clients, for all of whom one thread speaks, so that they take little from the server."""

    def __init__(
        self, selector: selectors.BaseSelector, is_enough: Callable[[Answers], bool]
    ) -> None:
        self.answers = Answers()
        self._selector = selector
        self._is_enough = is_enough

    def add(self, client: Client) -> None:
        self._selector.register(client.socket, selectors.EVENT_READ, client)
        client.send()

    def go_on(self) -> None:
        """Until it is enough and everybody has an answer."""
        while self._selector.get_map():
            for key, _ in self._selector.select():
                is_good = key.data.hear(self.answers)
                if is_good is not None:
                    self._follow(key.data, is_good=is_good)

    def _follow(self, client: Client, *, is_good: bool) -> None:
        """Whose connection is closed connects again. That is not counted as waiting."""
        is_over = self._is_enough(self.answers)
        if is_good and not is_over:
            client.send()
            return
        self._selector.unregister(client.socket)
        client.socket.close()
        if not is_over:
            client.connect()
            self.add(client)


def flood(url: str, *, clients: int, seconds: float, times: int = 0) -> Answers:
    """From so many clients at once; for longer, if it is not yet so many times what was accepted."""
    ends_at = clock.monotonic() + seconds

    def is_enough(heard: Answers) -> bool:
        count = heard.count()
        return clock.monotonic() >= ends_at and count.total() > times * count[201]

    with selectors.DefaultSelector() as selector:
        together = Flood(selector, is_enough)
        for number in range(clients):
            together.add(Client(TENANTS[number % len(TENANTS)], address_of(url)))
        together.go_on()
    return together.answers


def address_of(url: str) -> tuple[str, int]:
    where = urlsplit(url)
    assert where.hostname
    assert where.port
    return where.hostname, where.port


def limits(ledger_max_queued: int = LEDGER_MAX_QUEUED) -> dict[str, str]:
    """Of the server that is flooded."""
    return {
        "LOG_LEVEL": "WARNING",
        "TENANT_MAX_QUEUED": str(TENANT_MAX_QUEUED),
        "LEDGER_MAX_QUEUED": str(ledger_max_queued),
    }


def web_memory(server: int) -> int:
    """Bytes that the web processes hold for themselves alone."""
    (master,) = [pid for pid in children(server) if b"gunicorn" in command_line(pid)]
    return sum(own_bytes(pid) for pid in children(master))


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def own_bytes(pid: int) -> int:
    (line,) = [
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("RssAnon:")
    ]
    return int(line.split()[1]) * 1024


def wait_for_normal_service(url: str) -> float:
    """Until each tenant's task is accepted again; how many seconds that took."""
    began_at = clock.monotonic()
    for tenant in TENANTS:
        until(partial(is_accepted, url, tenant), seconds=60, what=f"for a task of {tenant}")
    return clock.monotonic() - began_at


def is_accepted(url: str, tenant: str) -> bool:
    headers = {"Authorization": f"Bearer token-{tenant}"}
    return httpx.post(f"{url}/v1/tasks", json=SLEEPER, headers=headers).status_code == 201
