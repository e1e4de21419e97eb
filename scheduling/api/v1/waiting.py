"""Owns how a request waits: for whom there is a seat, and how the server lets it.

The server that comes with this project lets others run in the place of one that waits (`config/places.py`), so there
are seats for hundreds. Another server knows nothing of that, and each holds one of its threads.
"""

import socket
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Lock
from typing import Any

from scheduling.conf import conf

LETS_WAIT = "rentroll.lets_wait"
"""In the environment of a request: what to call in place of `Event.wait`."""
CLIENT = "gunicorn.socket"
"""There as well, where the server tells it."""


def until(over: Event, seconds: float, environ: Mapping[str, Any]) -> None:
    """Return when it is over, the time is up, or the server has reason to want the answer now.

    Not inside a transaction, and with nothing in hand that came with this thread's database connection.
    """
    environ.get(LETS_WAIT, Event.wait)(over, seconds)


class Seats:
    """Of one process, `WEB_WAITERS` of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken: Counter[Hashable] = Counter()

    @contextmanager
    def one_for(self, whose: Hashable) -> Iterator[bool]:
        """Whether there is one. Nobody has more than are left free, so that no tenant takes them all."""
        with self._lock:
            is_free = self._taken[whose] < conf().WEB_WAITERS - self._taken.total()
            self._taken[whose] += is_free
        try:
            yield is_free
        finally:
            with self._lock:
                self._taken[whose] -= is_free
                self._taken += Counter()  # forget who has none


seats = Seats()


def is_there(client: socket.socket) -> bool:
    """False once it has hung up. What it has sent beyond this request is left where it is."""
    try:
        return client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
