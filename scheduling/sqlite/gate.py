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
from threading import Lock, Thread


class GateTimeout(Exception):
    """Nobody let this writer through in time: the holder is stuck, or stopped."""


class WriteGate:
    """One per process and file. Threads of the process take turns at it, then the process at the file.

    `flock` knows no timeout, so a process that finds the file taken lets a thread wait for it, and waits
    for that thread, which can be given up on.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._turn = Lock()
        self._file: int | None = None
        self._waiter: _Waiter | None = None

    def enter(self, timeout: float) -> None:
        """Wait in line, for `timeout` seconds at most. Raises GateTimeout."""
        if not self._turn.acquire(timeout=timeout):
            raise GateTimeout(self.path)
        try:
            self._lock_file(timeout)
        except BaseException:
            self._turn.release()
            raise

    def leave(self) -> None:
        """Let the next one through."""
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        finally:
            self._turn.release()

    def _lock_file(self, timeout: float) -> None:
        if self._file is None:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait_for_file(timeout)

    def _wait_for_file(self, timeout: float) -> None:
        assert self._file is not None
        waiter = self._waiter = self._waiter or _Waiter(self._file)
        if not waiter.wait(timeout):
            self._file = self._waiter = None  # the waiter closes its file once it gets the lock
            raise GateTimeout(self.path)

    def forget(self) -> None:
        """In a forked child: the lock on an inherited file would be the parent's as well."""
        if self._file is not None:
            os.close(self._file)


class _Waiter:
    """A thread that blocks in `flock` on behalf of another one."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._asked: SimpleQueue[None] = SimpleQueue()
        self._granted = Lock()
        self._granted.acquire()
        self._deciding = Lock()
        self._given_up = False
        Thread(target=self._run, name="write-gate", daemon=True).start()

    def wait(self, timeout: float) -> bool:
        """Whether the lock was got in time. After False this waiter is of no more use."""
        self._asked.put(None)
        if self._granted.acquire(timeout=timeout):
            return True
        with self._deciding:
            self._given_up = not self._granted.acquire(blocking=False)
        return not self._given_up

    def _run(self) -> None:
        while True:
            self._asked.get()
            fcntl.flock(self._file, fcntl.LOCK_EX)
            with self._deciding:
                if self._given_up:
                    os.close(self._file)
                    return
                self._granted.release()


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
