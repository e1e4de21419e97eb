"""Owns what one client may cost the others: the server has few threads, and they are everybody's.

A thread that reads from a client who sends nothing, or a byte now and then, would wait as long as that
client likes, and so would one that writes to a client who does not read; a handful of such clients, and nobody
is served. A proxy in front that takes in requests and answers whole keeps most of them away. A client that has
its answer and does not hang up would be waited for by the one thread that listens to all the others.

Requests that find all threads taken stand in line. A burst makes it long, and is worked off. More than can be
answered make it stay long, and everybody late; then whoever asks for tasks and has stood in it for more than a
moment is turned away, which takes a tenth of the time. Nobody else is: health, the kill switch, the console, remote
workers and who would wait for a task are no flood. Who is turned away may find a process with a shorter line by
connecting again.

Requests that wait for something to happen hold no thread that answers others (`config/places.py`). They are let go
when their client hangs up, and all together when the process is to stop.

A process that is asked to stop goes on for a while, in which `/readyz` says that it will: whoever shares requests out
among several servers notices, and sends no more. Then it hears those that have connected, lets nobody else connect,
and ends when all have their answers.
"""

import errno
import select
import selectors
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from threading import Event, local
from typing import Any
from urllib.parse import parse_qs

from gunicorn import util  # type: ignore[import-untyped]  # no stubs
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]  # no stubs

from config import forks
from config.places import Places
from config.refusals import refuse_unread, turn_away
from config.web_server import (
    SECONDS_IN_LINE,
    SECONDS_TO_LEAVE,
    SECONDS_TO_READ,
    SECONDS_TO_SEND,
)
from scheduling import clock
from scheduling.api.leaving import IS_LEAVING
from scheduling.api.v1.waiting import LETS_WAIT, is_there

PATIENCE_OF_WRITES = struct.pack("ll", int(SECONDS_TO_READ), int(SECONDS_TO_READ % 1 * 1_000_000))
"""SECONDS_TO_READ as the kernel takes it: a timeval."""

SECONDS_TO_PART = 2.0
"""For a client to hang up once it has the last answer on its connection."""

READ_PAST = 64 * 1024
"""Bytes of a refused body that gunicorn reads to get to the next request; after more, it closes the connection."""

LOOK = 0.5
"""Seconds between two looks at all clients."""

QUICKLY = 0.01
"""Seconds in line that a thread, free in a moment, explains."""
BRIEFLY = 0.05
"""Seconds that one may wait while there are known to be too many. Answers are to be had within twice that."""
KNOWN_FOR = 1.0
TURNED_AWAY = "/v1/tasks"
"""Where floods come in."""

util.write_error = refuse_unread  # gunicorn asks nobody else what to write


class WebWorker(ThreadWorker):  # type: ignore[misc]  # for want of stubs
    """gunicorn's threads, which wait for no client for long, and let none wait in too long a line.

    Whoever reads from a slow one finds that the request has ended, and answers so. One that was read long ago,
    and takes its time to be answered, is answered as ever; its connection is not used again.
    """

    sockets: list[Any]
    """Those it listens at."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._handled_since: dict[Any, float] = {}
        self._in_line_since: dict[Any, float] = {}
        self._thread = local()
        self._quick_at = 0.0
        self._too_many_until = 0.0
        self._parting_until: dict[Any, float] = {}
        self._waiting: dict[Any, Event] = {}
        self._looks_at = 0.0
        self._leaves_at: float | None = None
        """None: nobody asked it to stop."""

    def get_thread_pool(self) -> Places:
        return Places(self.cfg.threads)

    def init_process(self) -> None:
        """All that a process does, until it ends."""
        try:
            super().init_process()
        finally:
            self._end_waits()
            self.tpool.shutdown()

    def init_signals(self) -> None:
        super().init_signals()
        forks.let_through()

    def load_wsgi(self) -> None:
        super().load_wsgi()
        application: Any = self.wsgi  # type: ignore[has-type]  # for want of stubs

        def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            if self._thread.turns_away:
                return turn_away(environ, start_response)
            environ[LETS_WAIT] = partial(self._wait, self._thread.conn)
            environ[IS_LEAVING] = self._leaves_at is not None
            start = partial(self._start_response, environ, start_response)
            response: Iterable[bytes] = application(environ, start)
            return response

        self.wsgi = answer

    def _start_response(
        self, environ: dict[str, Any], start_response: Any, status: str, *more: Any
    ) -> Any:
        """Say that the connection ends where it may: else a client would send its next request into the void."""
        is_long = int(environ.get("CONTENT_LENGTH") or 0) > READ_PAST
        if status >= "4" and (is_long or "HTTP_TRANSFER_ENCODING" in environ):
            self._thread.req.force_close()
        return start_response(status, *more)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """SIGTERM: stop after a while. A second time: now."""
        if self._leaves_at is not None or not SECONDS_TO_LEAVE:
            super().handle_exit(sig, frame)
        self._leaves_at = clock.monotonic() + SECONDS_TO_LEAVE

    def set_accept_enabled(self, enabled: bool) -> None:  # noqa: FBT001  # gunicorn says how
        super().set_accept_enabled(enabled)
        if not (enabled or self.alive):
            self._close_the_door()

    def _close_the_door(self) -> None:
        """Hear those that are connected. Whom the system let connect from now on, nobody would ever hear."""
        for listener in self.sockets:
            with suppress(OSError):  # there is nobody left, or a sibling was faster
                while self._has_room() and select.select([listener], [], [], 0)[0]:
                    self.accept(listener)
            listener.close()
        self.sockets = []

    def _has_room(self) -> bool:
        return bool(self.nr_conns < self.worker_connections)

    def enqueue_req(self, conn: Any) -> None:
        self._in_line_since[conn] = clock.monotonic()
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        now = self._handled_since[conn] = clock.monotonic()
        self._thread.is_late = self._is_late(now - self._in_line_since.pop(conn, now), now)
        self._thread.turns_away = False
        self._thread.conn = conn
        try:
            conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, PATIENCE_OF_WRITES)
            return super().handle(conn)
        finally:
            del self._handled_since[conn]

    def _is_late(self, waited: float, now: float) -> bool:
        if waited <= QUICKLY:
            self._quick_at = now
        elif max(waited, now - self._quick_at) > SECONDS_IN_LINE:
            self._too_many_until = now + KNOWN_FOR
        return waited > (BRIEFLY if now < self._too_many_until else SECONDS_IN_LINE)

    def handle_request(self, req: Any, conn: Any) -> Any:
        self._thread.turns_away = self._thread.is_late and may_be_of_a_flood(req)
        self._thread.req = req
        if self._thread.turns_away or self._leaves_at is not None:
            req.force_close()
        try:
            return super().handle_request(req, conn)
        except BlockingIOError as error:  # which gunicorn would log as a fault of ours
            raise BrokenPipeError(errno.EPIPE, "The client takes nothing.") from error

    def finish_request(self, conn: Any, fs: Any) -> None:
        """gunicorn calls this from its main thread when a request is over, and would wait in it for the client."""
        if fs.cancelled() or (fs.exception() is None and not fs.result()):
            self._part_with(conn)
        else:
            super().finish_request(conn, fs)

    def _part_with(self, conn: Any) -> None:
        """Close a connection once its client has. Closed at once, it might take the answer with it."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:  # it is gone already
            self._close(conn)
            return
        conn.sock.settimeout(0)
        self._parting_until[conn] = clock.monotonic() + SECONDS_TO_PART
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._hear_out, conn))

    def _hear_out(self, conn: Any, sock: socket.socket) -> None:
        try:
            has_hung_up = not sock.recv(65536)
        except BlockingIOError:
            has_hung_up = False
        except OSError:
            has_hung_up = True
        if has_hung_up:
            self._close(conn)

    def _close(self, conn: Any) -> None:
        if self._parting_until.pop(conn, None):
            self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()

    def _wait(self, conn: Any, over: Event, seconds: float) -> None:
        """The request was read, and its answer is not late before it can be given."""
        del self._handled_since[conn]
        self._waiting[conn] = over
        try:
            self.tpool.wait(over, seconds)
        finally:
            del self._waiting[conn]
            self._handled_since[conn] = clock.monotonic()

    def notify(self) -> None:
        """gunicorn calls this from its main thread, once a second at least and whenever something happens."""
        super().notify()
        now = clock.monotonic()
        if self._leaves_at is not None and now >= self._leaves_at:
            self.alive = False
        if not self.alive:
            self._end_waits()
        if now >= self._looks_at:
            self._looks_at = now + LOOK
            self._look_at_clients(now)

    def _end_waits(self) -> None:
        for over in list(self._waiting.values()):
            over.set()

    def _look_at_clients(self, now: float) -> None:
        for conn, until in list(self._parting_until.items()):
            if now > until:
                self._close(conn)
        for conn, since in list(self._handled_since.items()):
            if now - since > SECONDS_TO_SEND:
                with suppress(OSError):  # it is over meanwhile
                    conn.sock.shutdown(socket.SHUT_RD)
        for conn, over in list(self._waiting.items()):
            if not is_there(conn.sock):
                over.set()


def may_be_of_a_flood(req: Any) -> bool:
    """Who would wait asks once in many seconds, and told to come back, would only ask more often."""
    would_wait = req.method == "GET" and "wait" in parse_qs(req.query)
    return req.path.startswith(TURNED_AWAY) and not would_wait
