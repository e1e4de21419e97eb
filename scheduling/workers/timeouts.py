"""Keeps time for what runs: a thread that never touches the database and never runs a handler.

It tells a handler that its lease ended unrenewed, raises TaskTimeout in one whose time is up, and gives
up on one that does not react: that handler's thread is lost to the process.
"""

import ctypes
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Condition, Lock, get_ident

from scheduling import clock
from scheduling.errors import TaskTimeout
from scheduling.workers.held import Held
from scheduling.workers.vital import start_vital_thread

REACTION = 5.0
"""Seconds a handler has to end after TaskTimeout was raised in it."""
FOREVER = float("inf")

_set_async_exc = ctypes.pythonapi.PyThreadState_SetAsyncExc
_set_async_exc.argtypes = [ctypes.c_ulong, ctypes.py_object]


class Interrupt:
    """Lets another thread raise TaskTimeout in this one while a handler runs, and not a moment longer.

    The exception surfaces between two bytecodes, so a handler blocked in C does not feel it. It may also
    surface inside `close`, a moment before that would have taken it back: callers expect it from there.
    """

    def __init__(self) -> None:
        self._thread = get_ident()
        self._lock = Lock()
        self._is_open = False
        self._was_asked = False

    def open(self) -> None:
        """From here on it may surface. Raises TaskTimeout if it was asked for before."""
        with self._lock:
            if self._was_asked:
                raise TaskTimeout
            self._is_open = True

    def interrupt(self) -> None:
        """Called once at most."""
        with self._lock:
            self._was_asked = True
            if self._is_open:
                _set_async_exc(self._thread, TaskTimeout)

    def close(self) -> None:
        """The handler came to an end; what was sent and has not surfaced does so here, and no later.

        It is not taken back: Python 3.11 goes on looking for it then, and for ever in a thread that is traced.
        """
        with self._lock:
            self._is_open = False
            if self._was_asked:
                with suppress(TaskTimeout):
                    _set_async_exc(self._thread, TaskTimeout)  # in place of the one that waits
                    while True:
                        pass


class Watch:
    """Looks at everything held whenever the earliest instant that matters has come."""

    def __init__(self, held: Callable[[], Iterable[Held]], give_up: Callable[[Held], None]) -> None:
        """`held` is called from the watching thread; so is `give_up`, with a handler that does not end."""
        self._held = held
        self._give_up = give_up
        self._changed = Condition()
        self._looks_at = FOREVER

    def start(self) -> None:
        start_vital_thread("watch", self._run)

    def expect(self, instant: float) -> None:
        """Something has to be looked at by then (monotonic seconds). Cheap unless it is the earliest."""
        if instant < self._looks_at:
            with self._changed:
                self._looks_at = min(self._looks_at, instant)
                self._changed.notify()

    def look(self, now: float) -> float:
        """Deal with everything whose instant has come; when to look again."""
        return min((self._look_at(held, now) for held in self._held()), default=FOREVER)

    def _run(self) -> None:
        while True:
            with self._changed:
                wait = self._looks_at - clock.monotonic()
                if wait > 0:
                    self._changed.wait(None if wait == FOREVER else wait)
                    continue
                self._looks_at = FOREVER
            self.expect(self.look(clock.monotonic()))

    def _look_at(self, held: Held, now: float) -> float:
        return min(self._keep_lease(held, now), self._keep_time(held, now))

    def _keep_lease(self, held: Held, now: float) -> float:
        if held.success:
            return FOREVER  # it gave its lease up by settling, and has lost nothing
        if held.lease_ends_at <= now:
            held.lose()
        return FOREVER if held.lease_lost.is_set() else held.lease_ends_at

    def _keep_time(self, held: Held, now: float) -> float:
        running = held.running
        if held.overdue_at is None or running is None:
            return FOREVER
        if now < held.overdue_at:
            return held.overdue_at
        if not held.interrupted:
            held.interrupted = True
            held.cancelled.set()
            running.interrupt()
            held.overdue_at = now + REACTION
            return held.overdue_at
        self._give_up(held)
        held.overdue_at = None
        return FOREVER
