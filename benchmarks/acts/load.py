"""Requests to a web server on this machine, over connections that are kept, from a process of their own."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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
    took_ms = _on_all_connections(port, request, status, partial(_closed_loop, seconds))
    return len(took_ms) / seconds


def at_rate(port: int, request: str, status: int, seconds: float, per_second: float) -> list[float]:
    """Milliseconds from when a request was due to be sent to the end of its answer, at so many a second.

    Due, not sent: a server that stalls makes the next ones late, and is charged for it.
    """
    every_seconds = CONNECTIONS / per_second
    return _on_all_connections(port, request, status, partial(_open_loop, seconds, every_seconds))


def _on_all_connections(
    port: int, request: str, status: int, loop: Callable[[Connection], list[float]]
) -> list[float]:
    stay_on(CLIENT)
    connections = [Connection(port, request, status) for _ in range(CONNECTIONS)]
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        list(threads.map(_warm_up, connections))
        took_ms = [wait for found in threads.map(loop, connections) for wait in found]
    for connection in connections:
        connection.close()
    return took_ms


def _warm_up(connection: Connection) -> None:
    for _ in range(WARM_UP):
        connection.ask()


def _closed_loop(seconds: float, connection: Connection) -> list[float]:
    ends_at = time.monotonic() + seconds
    took_ms = []
    while (begun := time.monotonic()) < ends_at:
        connection.ask()
        took_ms.append((time.monotonic() - begun) * 1000)
    return took_ms


def _open_loop(seconds: float, every_seconds: float, connection: Connection) -> list[float]:
    took_ms = []
    for due_at in _beats(time.monotonic(), seconds, every_seconds):
        time.sleep(max(due_at - time.monotonic(), 0))
        connection.ask()
        took_ms.append((time.monotonic() - due_at) * 1000)
    return took_ms


def _beats(begun: float, seconds: float, every_seconds: float) -> Iterator[float]:
    for number in range(1, int(seconds / every_seconds) + 1):
        yield begun + number * every_seconds
