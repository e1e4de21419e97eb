"""Owns what one client may cost the others: the server has few threads, and they are everybody's.

A thread that reads from a client who sends nothing, or a byte now and then, would wait as long as that
client likes; a handful of such clients, and nobody is served. A proxy in front that takes in requests
whole keeps most of them away.

Requests that find all threads taken stand in line. More than can be answered would make that line ever longer
and everybody late, so whoever asks for tasks and has stood in it for too long is turned away, which takes a
hundredth of the time. Nobody else is: health, the kill switch, the console and remote workers are no flood.
"""

import json
import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from threading import local
from typing import Any

from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]  # no stubs

from config.headers import HEADERS
from scheduling import clock
from scheduling.api.v1.kinds import Kind

SECONDS_TO_SEND = float(os.environ.get("WEB_SECONDS_TO_SEND", "20"))
"""For the head and the body of a request together, from its first byte on."""

SECONDS_IN_LINE = float(os.environ.get("WEB_SECONDS_IN_LINE", "0.5"))
"""For a request that waits for a thread: when one has waited longer, there are too many."""
BRIEFLY = 0.05
"""Seconds that one may wait while there are known to be too many, so that the line is short again at once."""
KNOWN_FOR = 1.0
TURNED_AWAY = "/v1/tasks"
"""Where floods come in."""
RETRY_AFTER = "1"


class WebWorker(ThreadWorker):  # type: ignore[misc]  # for want of stubs
    """gunicorn's threads, which stop listening to a client that is too slow, and to nobody for too long a line.

    Whoever reads from a slow one finds that the request has ended, and answers so. One that was read long ago,
    and takes its time to be answered, is answered as ever; its connection is not used again.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._handled_since: dict[Any, float] = {}
        self._in_line_since: dict[Any, float] = {}
        self._thread = local()
        self._too_many_until = 0.0

    def load_wsgi(self) -> None:
        super().load_wsgi()
        application: Any = self.wsgi  # type: ignore[has-type]  # for want of stubs

        def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            if self._thread.is_late and environ["PATH_INFO"].startswith(TURNED_AWAY):
                return turn_away(environ, start_response)
            response: Iterable[bytes] = application(environ, start_response)
            return response

        self.wsgi = answer

    def enqueue_req(self, conn: Any) -> None:
        self._in_line_since[conn] = clock.monotonic()
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        now = self._handled_since[conn] = clock.monotonic()
        self._thread.is_late = self._is_late(now - self._in_line_since.pop(conn, now), now)
        try:
            return super().handle(conn)
        finally:
            del self._handled_since[conn]

    def _is_late(self, waited: float, now: float) -> bool:
        if waited > SECONDS_IN_LINE:
            self._too_many_until = now + KNOWN_FOR
        return waited > (BRIEFLY if now < self._too_many_until else SECONDS_IN_LINE)

    def notify(self) -> None:
        """gunicorn calls this from its main thread, once a second at least."""
        super().notify()
        now = clock.monotonic()
        for conn, since in list(self._handled_since.items()):
            if now - since > SECONDS_TO_SEND:
                with suppress(OSError):  # it is over meanwhile
                    conn.sock.shutdown(socket.SHUT_RD)


def turn_away(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """A problem as the API would put it, without asking the API."""
    kind = Kind.UNAVAILABLE
    members = {
        "type": f"/problems/{kind.slug}",
        "title": kind.title,
        "status": kind.status,
        "detail": "More requests wait than can be answered in time. Nothing was changed; try again.",
        "instance": environ["PATH_INFO"],
    }
    body = json.dumps(members).encode()
    headers = [
        ("Content-Type", "application/problem+json"),
        ("Content-Length", str(len(body))),
        ("Retry-After", RETRY_AFTER),
        *HEADERS.items(),
    ]
    start_response("503 Service Unavailable", headers)
    return [body]
