"""A flood of requests, what was answered to it, and what it cost the server."""

import json
import math
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path
from urllib.parse import urlsplit

from scheduling import clock
from tests.installation import Installation, first_match
from tests.waiting import until

TENANTS = ("tenant-a", "tenant-b")
SLEEPER = {"name": "demo.sleep", "payload": {"seconds": 1.0}}
LIMITS = {"TENANT_MAX_QUEUED": "100", "LEDGER_MAX_QUEUED": "190"}
"""So low that each of two tenants meets its own limit, and then both meet that of all."""
AWAITED = {201, 429, 503}


@dataclass
class Answers:
    """What one client was told."""

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
            f"  {status}: {len(seconds)} answers, p50 {at(seconds, 50):.1f} ms, "
            f"p99 {at(seconds, 99):.1f} ms, longest {max(seconds) * 1000:.1f} ms"
            for status, seconds in sorted(self.seconds.items())
        ]
        return "\n".join([*lines, *self.wrong[:10]])


def at(seconds: list[float], percent: int) -> float:
    """That percentile, in milliseconds."""
    ranked = sorted(seconds)
    return ranked[math.ceil(percent / 100 * len(ranked)) - 1] * 1000


def send(connection: HTTPConnection, tenant: str, answers: Answers) -> int:
    """Enqueue one task, and note what comes back."""
    headers = {"Authorization": f"Bearer token-{tenant}", "Content-Type": "application/json"}
    began_at = clock.monotonic()
    connection.request("POST", "/v1/tasks", json.dumps(SLEEPER), headers)
    answer = connection.getresponse()
    text = answer.read()
    took = clock.monotonic() - began_at
    answers.note(answer.status, took, answer.getheader("Retry-After"), text)
    return answer.status


def flood(url: str, *, clients: int, seconds: float) -> Answers:
    """From so many clients at once, each of which sends its next request as soon as it has its answer."""
    where, ends_at = urlsplit(url), clock.monotonic() + seconds

    def go_on(number: int) -> Answers:
        heard, tenant = Answers(), TENANTS[number % len(TENANTS)]
        with closing(HTTPConnection(where.hostname or "", where.port, timeout=30)) as connection:
            while clock.monotonic() < ends_at:
                try:
                    send(connection, tenant, heard)
                except RemoteDisconnected:  # a connection that the server had closed meanwhile
                    connection.close()
        return heard

    together = Answers()
    with ThreadPoolExecutor(clients) as threads:
        for heard in threads.map(go_on, range(clients)):
            together.add(heard)
    return together


@contextmanager
def serving(installation: Installation) -> Iterator[tuple[str, int]]:
    """Its address, and the process id of `manage.py serve`."""
    installation.environment |= {"PORT": "0", "LOG_LEVEL": "WARNING", **LIMITS}
    with installation.start("serve") as server:
        try:
            yield first_match(r"Listening at: (http://\S+)", server), server.pid
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate()


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
    where, began_at = urlsplit(url), clock.monotonic()
    with closing(HTTPConnection(where.hostname or "", where.port, timeout=30)) as connection:
        for tenant in TENANTS:
            until(
                lambda: send(connection, tenant, Answers()) == 201,  # noqa: B023  # asked at once
                seconds=60,
                what=f"for a task of {tenant} to be accepted",
            )
    return clock.monotonic() - began_at
