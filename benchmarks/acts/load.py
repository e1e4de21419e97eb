"""Requests to a web server on this machine, over connections that are kept, from a process of their own."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from benchmarks.cores import CLIENT, stay_on

CONNECTIONS = 8
WARM_UP = 20
"""Requests on each connection before the clock is started."""
PATIENCE = 30.0
A_PIECE = 65_536


class Connection:
    """Sends one request again and again, and insists on being understood."""

    def __init__(self, port: int, request: str, status: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._request = request.encode()
        self._begins = f"HTTP/1.1 {status} ".encode()

    def ask(self) -> None:
        """One request and its whole answer. Raises RuntimeError for any other status than the expected one."""
        self._socket.sendall(self._request)
        answer = b""
        while (end := answer.find(b"\r\n\r\n")) < 0:
            answer += self._receive()
        wanted = end + 4 + _content_length(answer[:end])
        while len(answer) < wanted:
            answer += self._receive()
        if not answer.startswith(self._begins):
            raise RuntimeError(f"The server answered: {answer[:500]!r}")

    def close(self) -> None:
        self._socket.close()

    def _receive(self) -> bytes:
        piece = self._socket.recv(A_PIECE)
        if not piece:
            raise RuntimeError("The server closed a connection that was to be kept.")
        return piece


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


# The acts


def as_fast_as_it_goes(port: int, request: str, status: int, seconds: float) -> float:
    """Requests per second when each connection asks again as soon as it is answered."""
    with _warm_connections(port, request, status) as on_all:
        return len(on_all(partial(_closed_loop, time.monotonic() + seconds))) / seconds


def at_rate(port: int, request: str, status: int, seconds: float, per_second: float) -> list[float]:
    """Milliseconds from when a request was due to be sent to the end of its answer, at so many a second.

    They are due one after the other, evenly, and sent by whichever connection is free. Due, not sent: a server that
    stalls makes the next ones late, and is charged for it.
    """
    with _warm_connections(port, request, status) as on_all:
        begun, count = time.monotonic(), int(seconds * per_second)
        all_due = [begun + number / per_second for number in range(1, count + 1)]
        return on_all(partial(_open_loop, iter(all_due)))  # each is taken by one thread


Loop = Callable[[Connection], list[float]]


@contextmanager
def _warm_connections(
    port: int, request: str, status: int
) -> Iterator[Callable[[Loop], list[float]]]:
    """Connections on which a loop can be run, on all at once; it answers with milliseconds."""
    stay_on(CLIENT)
    connections = [Connection(port, request, status) for _ in range(CONNECTIONS)]
    with ThreadPoolExecutor(CONNECTIONS) as threads:

        def on_all(loop: Loop) -> list[float]:
            return [took for each in threads.map(loop, connections) for took in each]

        on_all(_warm_up)
        yield on_all
    for connection in connections:
        connection.close()


def _warm_up(connection: Connection) -> list[float]:
    for _ in range(WARM_UP):
        connection.ask()
    return []


def _closed_loop(ends_at: float, connection: Connection) -> list[float]:
    took_ms = []
    while (begun := time.monotonic()) < ends_at:
        connection.ask()
        took_ms.append((time.monotonic() - begun) * 1000)
    return took_ms


def _open_loop(all_due: Iterator[float], connection: Connection) -> list[float]:
    took_ms = []
    for due_at in all_due:
        time.sleep(max(due_at - time.monotonic(), 0))
        connection.ask()
        took_ms.append((time.monotonic() - due_at) * 1000)
    return took_ms
