"""Talks to a host that may take as long as it likes, so that the one who waits for it need not."""

import socket
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

SLICE = 0.2
"""Seconds. An exception raised in a waiting thread, such as TaskTimeout, surfaces between two slices."""
CONNECTED = frozenset({"connection.connect_tcp.complete", "connection.start_tls.complete"})

A = TypeVar("A")


class Line:
    """The connection of one exchange, which another thread may cut. Cut early, it is cut once it is there."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._is_cut = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """For httpx's extension of that name, which tells of every connection, bare and then encrypted."""
        if event in CONNECTED:
            self._socket = info["return_value"].get_extra_info("socket")
            if self._is_cut:
                self.cut()

    def cut(self) -> None:
        """Whoever reads from it, or writes to it, finds that it has ended."""
        self._is_cut = True
        if self._socket is not None:
            with suppress(
                OSError
            ):  # it is closed, or about to be encrypted: then it is cut after that
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


def interruptibly(talk: Callable[[Line], A]) -> A:
    """Talk in a thread of its own; return or raise what comes of it.

    Blocked in a system call, a thread feels no exception: a handler that waited there itself, for a name
    server or for an answer, would outlive its time and cost everybody the worker process. This one
    can leave, and cuts the line as it does.
    """
    line, outcome = Line(), Future[A]()
    Thread(target=_talk, args=(talk, line, outcome), name="line", daemon=True).start()
    try:
        while not wait([outcome], timeout=SLICE).done:
            pass
        return outcome.result()
    finally:
        line.cut()


def _talk(talk: Callable[[Line], A], line: Line, outcome: "Future[A]") -> None:
    try:
        outcome.set_result(talk(line))
    except BaseException as error:  # noqa: BLE001  # raised again in the thread that waits
        outcome.set_exception(error)
