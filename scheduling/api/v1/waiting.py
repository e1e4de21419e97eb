"""Owns how a request waits for work: woken as workers are, and in no more threads than may be spared.

The server has few threads, and one that waits answers nobody. So only so many requests wait in a process at
once; to the others there is simply nothing to do yet. Nothing is claimed for a client that has hung up: it would
be lost, and tried again only after the lease.
"""

import selectors
import socket
from collections.abc import Callable
from contextlib import closing
from threading import BoundedSemaphore

from django.conf import settings

from scheduling import clock
from scheduling.ledger import Claims, wake

CONTENDED_WAIT = 0.003
"""Seconds after which a claim that met other claims looks again."""

_seats = BoundedSemaphore(settings.REMOTE_WAITERS)


def until_found(
    look: Callable[[], Claims], seconds: float, client: socket.socket | None = None
) -> Claims:
    """What `look` finds, at once or within so many seconds, while the client is there to be answered."""
    found = look()
    if found.claims or not seconds or not _seats.acquire(blocking=False):
        return found
    try:
        return _listening(look, clock.monotonic() + seconds, client)
    finally:
        _seats.release()


def _listening(look: Callable[[], Claims], ends_at: float, client: socket.socket | None) -> Claims:
    """Looks again when a lane became ready or a pause was lifted, and after each of the workers' slow looks."""
    with closing(wake.listen()) as listener, selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        if client:
            selector.register(client, selectors.EVENT_READ)
        while client is None or is_there(client):
            found = look()  # also once the listener is there: what came before it was not heard
            left = ends_at - clock.monotonic()
            if found.claims or left <= 0:
                return found
            pause = CONTENDED_WAIT if found.contended else wake.SLOWEST_LOOK.total_seconds()
            woken_by = {key.fileobj for key, _ in selector.select(min(pause, left))}
            if client in woken_by and is_there(client):
                selector.unregister(client)  # its next request, which would wake us for ever
            listener.drain()
    return Claims()


def is_there(client: socket.socket) -> bool:
    """False once it has hung up. What it has sent beyond this request is left where it is."""
    try:
        return client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
