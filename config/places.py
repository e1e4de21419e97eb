"""Owns who runs in a web process: so many requests as there are places, while any number of others only wait.

To a place belong the database connections that its thread has opened. A request that waits leaves its place, with
them, to a new thread. When its wait is over it stands in line for one again, and the thread that it gets it from
ends. So as many run, and hold connections, as there are places; whoever waits costs a thread that sleeps.
"""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Event, RLock, Thread
from typing import Any, TypeVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

T = TypeVar("T")
Step = Callable[[], bool]
"""What a thread does in its place, and whether it keeps the place after that."""


class Places:
    """What gunicorn takes for a pool of threads."""

    def __init__(self, count: int) -> None:
        self._lines = Lines()
        for _ in range(count):
            self._fill([])

    def submit(self, call: Callable[..., T], *args: Any) -> Future[T]:
        """Have it called in the next place that is free."""
        future: Future[T] = Future()
        self._lines.stand(self._lines.coming, partial(carry_out, future, partial(call, *args)))
        return future

    def wait(self, over: Event, seconds: float) -> None:
        """`over.wait(seconds)`, for whoever was called in a place, outside of it. At once, if no thread can be had.

        Not for the middle of a transaction: the thread that takes the place would go on with it.
        """
        mine = leave_connections()
        try:
            self._fill(mine)
        except RuntimeError:  # the system gives no more threads
            take_connections(mine)
            return
        try:
            over.wait(seconds)
        finally:
            self._come_back()

    def shutdown(self, *, wait: bool = False) -> None:
        """Let the threads end once they have nothing to do. Python waits for them, so it is not done here."""
        self._lines.close()

    def _fill(self, left: list[BaseDatabaseWrapper]) -> None:
        """A place, with the connections of whoever left it."""
        Thread(target=self._serve, args=(left,), name="place").start()

    def _serve(self, left: list[BaseDatabaseWrapper]) -> None:
        take_connections(left)
        while (step := self._lines.next()) and step():
            del step  # what was answered is not kept until the next request

    def _come_back(self) -> None:
        """When the lines are closed there are no places any more, and nobody to share them with."""
        left: list[BaseDatabaseWrapper] = []
        is_free = Event()

        def leave() -> bool:
            left.extend(leave_connections())
            is_free.set()
            return False

        with suppress(LinesClosed):
            self._lines.stand(self._lines.returning, leave)
            is_free.wait()
        take_connections(left)


class LinesClosed(Exception):
    """The process is about to end."""


class Lines:
    """Who comes, and who comes back from a wait. They take turns: however many there are of one, the other moves on."""

    def __init__(self) -> None:
        self.coming: deque[Step] = deque()
        self.returning: deque[Step] = deque()
        self._turns = deque([self.coming, self.returning])
        self._standing: SimpleQueue[None] = SimpleQueue()
        """One for each that stands in either, and in the end one for which nobody does."""
        # A signal may close the lines while the thread that it strikes lets somebody stand in them.
        self._lock = RLock()
        self._are_closed = False

    def stand(self, line: deque[Step], step: Step) -> None:
        """Raises LinesClosed."""
        with self._lock:
            if self._are_closed:
                raise LinesClosed
            line.append(step)
        self._standing.put(None)

    def next(self) -> Step | None:
        """Wait for it. None: the lines are closed, and empty."""
        self._standing.get()
        with self._lock:
            self._turns.rotate()
            line = self._turns[0] or self._turns[1]
            if line:
                return line.popleft()
        self._standing.put(None)  # for the other threads
        return None

    def close(self) -> None:
        with self._lock:
            self._are_closed = True
        self._standing.put(None)


def carry_out(future: Future[T], call: Callable[[], T]) -> bool:
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001  # the future's to tell
        future.set_exception(error)
    else:
        future.set_result(result)
    return True


def leave_connections() -> list[BaseDatabaseWrapper]:
    """Those of this thread, for another one to take; if it needs any before that, it opens new ones."""
    mine = list(connections.all(initialized_only=True))
    for connection in mine:
        if not connection.allow_thread_sharing:
            connection.inc_thread_sharing()  # never by two at once
        del connections[connection.alias]
    return mine


def take_connections(left: Iterable[BaseDatabaseWrapper]) -> None:
    for connection in left:
        connections[connection.alias] = connection
