"""Owns how remote workers wait for work: in a line, and one thread of the process looks for all of them.

It is woken as Python workers are. One read tells for whom there may be work; then it claims for them, one after the
other and first for who came first, until there is nothing left. So a task that comes in costs a claim or two, however
many wait. Nothing is claimed for a client that has hung up: it would be lost, and tried again only after the lease.
"""

import selectors
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from threading import Event, Lock, Thread
from typing import Any

from django.db import connections

from scheduling import ledger
from scheduling.api.v1 import waiting
from scheduling.ledger import Claims, wake
from scheduling.ledger.dialects import Reach

CONTENDED_WAIT = 0.003
"""Seconds after which a claim that met other claims looks again."""


class Waiter:
    """One request in the line, and what was found for it."""

    def __init__(
        self, reach: Reach, claim: Callable[[], Claims], client: socket.socket | None
    ) -> None:
        self.reach = reach
        self.over = Event()
        """It has what it waited for, or wants it no more."""
        self._claim = claim
        self._client = client
        self._turn = Lock()
        """Held while somebody claims for it, so that it does not leave without what is just being found."""
        self._found = Claims()
        self._error: Exception | None = None

    def serve(self) -> Claims | None:
        """Claim for it. None: it wants nothing."""
        with self._turn:
            if self.over.is_set():
                return None
            if self._client and not waiting.is_there(self._client):
                self.over.set()
                return None
            try:
                self._found = self._claim()
            except Exception as error:  # noqa: BLE001  # its own to tell, as if it had claimed itself
                self._fail(error)
                return None
            if self._found.claims:
                self.over.set()
            return self._found

    def fail(self, error: Exception) -> None:
        with self._turn:
            if not self.over.is_set():
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._error = error
        self.over.set()

    def leave(self) -> Claims:
        """What was found until now, and nothing will be from now on. Raises what kept it from being found."""
        with self._turn:
            self.over.set()
        if self._error:
            raise self._error
        return self._found


class Line:
    """Who waits, in the order in which they came. Shared by the threads of one process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[Waiter, None] = {}
        self._bell: socket.socket | None = None
        """Heard by the thread that looks. None: there is none."""

    def until_found(self, waiter: Waiter, seconds: float, environ: Mapping[str, Any]) -> Claims:
        """What is found for it, or nothing when the time is up. DatabaseError when nobody could look."""
        self._join(waiter)
        try:
            waiting.until(waiter.over, seconds, environ)
        finally:
            with self._lock:
                self._waiting.pop(waiter, None)
        return waiter.leave()

    def _join(self, waiter: Waiter) -> None:
        with self._lock:
            self._waiting[waiter] = None
            if self._bell is None:
                self._bell, ear = socket.socketpair()
                self._bell.settimeout(0)
                Thread(target=self._keep, args=(ear,), name="line", daemon=True).start()
            else:
                with suppress(OSError):  # it rings already, or all are just being dismissed
                    self._bell.send(b"\0")

    def _keep(self, ear: socket.socket) -> None:
        """Look until nobody has been waiting for a moment. Those who wait are told why, when it cannot be."""
        try:
            with ear, closing(wake.listen()) as listener, selectors.DefaultSelector() as selector:
                selector.register(ear, selectors.EVENT_READ)
                selector.register(listener, selectors.EVENT_READ)
                while line := self._standing():
                    woken = selector.select(self._serve(line))
                    if any(key.fileobj is ear for key, _ in woken):
                        ear.recv(4096)
                    listener.drain()
        except Exception as error:  # noqa: BLE001  # theirs to tell: each as if it had looked itself
            for waiter in self._dismissed():
                waiter.fail(error)
        finally:
            connections.close_all()

    def _standing(self) -> list[Waiter]:
        with self._lock:
            if not self._waiting:
                self._hang_up()
            return list(self._waiting)

    def _dismissed(self) -> list[Waiter]:
        with self._lock:
            self._hang_up()
            dismissed, self._waiting = list(self._waiting), {}
            return dismissed

    def _hang_up(self) -> None:
        """Whoever joins now starts another thread."""
        if self._bell:
            self._bell.close()
            self._bell = None

    def _serve(self, line: Sequence[Waiter]) -> float:
        """Claim for those for whom there is work. Seconds until the next look, unless something wakes before."""
        promising = ledger.promising({waiter.reach for waiter in line})
        pause = wake.SLOWEST_LOOK.total_seconds()
        for waiter in line:
            found = waiter.serve() if waiter.reach in promising else None
            if found and not found.claims:
                promising.discard(waiter.reach)
                pause = CONTENDED_WAIT if found.contended else pause
        return pause


line = Line()
