"""Owns how long a client may take to send a request: the server has few threads, and they are everybody's.

A thread that reads from a client who sends nothing, or a byte now and then, would wait as long as that
client likes; a handful of such clients, and nobody is served. A proxy in front that takes in requests
whole keeps most of them away.
"""

import os
import socket
from contextlib import suppress
from typing import Any

from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]  # no stubs

from scheduling import clock

SECONDS_TO_SEND = float(os.environ.get("WEB_SECONDS_TO_SEND", "20"))
"""For the head and the body of a request together, from its first byte on."""


class WebWorker(ThreadWorker):  # type: ignore[misc]  # for want of stubs
    """gunicorn's threads, which stop listening to a client that is too slow.

    Whoever reads then finds that the request has ended, and answers so. One that was read long ago, and
    takes its time to be answered, is answered as ever; its connection is not used again.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._handled_since: dict[Any, float] = {}

    def handle(self, conn: Any) -> Any:
        self._handled_since[conn] = clock.monotonic()
        try:
            return super().handle(conn)
        finally:
            del self._handled_since[conn]

    def notify(self) -> None:
        """gunicorn calls this from its main thread, once a second at least."""
        super().notify()
        now = clock.monotonic()
        for conn, since in list(self._handled_since.items()):
            if now - since > SECONDS_TO_SEND:
                with suppress(OSError):  # it is over meanwhile
                    conn.sock.shutdown(socket.SHUT_RD)
