"""The write gate: writers of one SQLite file queue in the kernel instead of sleeping and retrying.

SQLite's busy handler sleeps, looks again, and lets whoever looks at the right moment pass; under load
one process gets everything and another nothing. A file lock beside the ledger makes writers wait in line.
It is only a queue: who does not take it is still excluded by SQLite's own lock, and a holder that is
killed lets go by itself. docs/decisions/0005-write-gate.md has the measurements.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, RLock, Thread
from typing import Literal

from scheduling import clock

REST = 1.0
"""Seconds for which nobody waits who would be no more patient than one who has just waited in vain."""
A_MOMENT = 0.05
"""Seconds in which one who gets on with it lets others in, also on a machine with much to do."""


class GateTimeout(Exception):
    """Nobody let this writer through in time: the holder is stuck, or stopped."""


class WriteGate:
    """One per process and file. Threads of the process take turns at it, then the process at the file.

    An exception may strike anywhere in here, because workers raise TaskTimeout in the threads of handlers.
    The lock knows which thread holds it, whether or not that thread got to know, so whoever might be inside
    may leave, and more than once.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.holder: object | None = None
        self._turn = RLock()
        self._file: int | None = None
        self._waiter: _Waiter | None = None
        self._late: _Waiter | None = None
        """It gave up, and may get the lock yet."""
        self._in_vain = 0.0
        """How long somebody waited,"""
        self._rests_until = 0.0
        """and until when that is reason enough not to."""

    def enter(self, who: object, timeout: float) -> None:
        """Wait for a turn, for `timeout` seconds at most, and be the holder. Raises GateTimeout.

        At once when somebody no less patient has just waited in vain, and nobody was let in since: of a crowd
        that finds the holder stuck, a few wait and the others know.
        """
        if timeout <= self._in_vain and clock.monotonic() < self._rests_until:
            if not self._goes_on():
                raise GateTimeout(self.path)
            self._rests_until = 0.0
        try:
            self._enter(who, timeout)
        except GateTimeout:
            self._in_vain, self._rests_until = timeout, clock.monotonic() + REST
            raise
        self._rests_until = 0.0

    def _goes_on(self) -> bool:
        """Whether what was waited for in vain can be had by now: of a process, or of a thread of this one."""
        if late := self._late:
            if goes_on := late.is_gone(A_MOMENT):
                self._late = None
        elif goes_on := self._turn.acquire(timeout=A_MOMENT):
            self._turn.release()
        return goes_on

    def _enter(self, who: object, timeout: float) -> None:
        if not self._turn.acquire(timeout=timeout):
            raise GateTimeout(self.path)
        try:
            self.holder = who
            self._lock_file(timeout)
        except BaseException:
            self.leave(who)
            raise

    def is_inside(self, who: object) -> bool:
        """Also when an exception struck this thread before it could say who it is."""
        return self.holder is who or (self.holder is None and self._is_this_threads())

    def leave(self, who: object) -> None:
        """Let the next one through. Nothing happens when `who` is not inside."""
        if not self.is_inside(who):
            return
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self.holder = None
        if not self._is_this_threads():
            # Its thread has ended. Who waits for the lock of that one gives up in time.
            self._turn = RLock()
        while self._is_this_threads():
            self._turn.release()

    def _is_this_threads(self) -> bool:
        return bool(self._turn._is_owned())  # type: ignore[attr-defined]  # what Condition asks a lock

    def _lock_file(self, timeout: float) -> None:
        if self._file is None:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if self._late:
                timeout = self._wait_behind(self._late, timeout)
            self._wait_for_file(self._file, timeout)

    def _wait_behind(self, late: "_Waiter", timeout: float) -> float:
        """Until this process's waiter has let go: one place in the line is enough. The seconds that are left."""
        ends_at = clock.monotonic() + timeout
        if not late.is_gone(timeout):
            raise GateTimeout(self.path)
        self._late = None
        return max(ends_at - clock.monotonic(), 0.0)

    def _wait_for_file(self, file: int, timeout: float) -> None:
        """`flock` knows no timeout, so a thread waits for it, and this one for that thread."""
        waiter = self._waiter = self._waiter or _Waiter(file)
        granted = False
        try:
            granted = waiter.wait(timeout)
        finally:
            if not granted:
                self._file = self._waiter = None  # the waiter closes its file
                self._late = waiter
                waiter.asked.put(
                    "end"
                )  # at once: an exception may strike where a method of ours begins
        if not granted:
            raise GateTimeout(self.path)

    def forget(self) -> None:
        """In a forked child: the lock on an inherited file would be the parent's as well."""
        if self._file is not None:
            os.close(self._file)
        if self._late:
            self._late.close()


class _Waiter:
    """A thread that blocks in `flock` on behalf of another one."""

    def __init__(self, file: int) -> None:
        self._file: int | None = file
        self.asked: SimpleQueue[Literal["lock", "end"]] = SimpleQueue()
        """`end` lets the thread end, and the lock go, at once or as soon as it is got."""
        self._granted = Lock()
        self._granted.acquire()
        self._gone = Event()
        Thread(target=self._run, args=[file], name="write-gate", daemon=True).start()

    def wait(self, timeout: float) -> bool:
        """Whether the lock was got in time. If it was not, give up: it may still come."""
        self.asked.put("lock")
        return self._granted.acquire(timeout=timeout)

    def is_gone(self, timeout: float) -> bool:
        """Whether it has let go for good within so many seconds."""
        return self._gone.wait(timeout)

    def close(self) -> None:
        """Its file, once. In a forked child, too, where it is the parent's as well."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _run(self, file: int) -> None:
        while self.asked.get() == "lock":
            fcntl.flock(file, fcntl.LOCK_EX)
            self._granted.release()
        fcntl.flock(
            file, fcntl.LOCK_UN
        )  # to close it is not enough: a forked child may have it open
        self.close()
        self._gone.set()


_gates: dict[str, WriteGate] = {}
_gates_lock = Lock()


def gate_for(database: str) -> WriteGate:
    """The gate of a database file, one object per process."""
    path = f"{Path(database).absolute()}-gate"
    with _gates_lock:
        return _gates.setdefault(path, WriteGate(path))


def _forget_gates() -> None:
    global _gates_lock
    _gates_lock = Lock()
    while _gates:
        with suppress(OSError):
            _gates.popitem()[1].forget()


os.register_at_fork(after_in_child=_forget_gates)
