"""The claims of this process that no slot has got to yet, and which slot gets to them. Owns when threads wake.

To wake a thread, and for it to get hold of the interpreter, takes longer than many a task. So while tasks
are short, one thread takes them one after the other, and the others sleep on. Should it stay away, another is
woken within milliseconds. (Go's scheduler wakes its threads as sparingly, and for the same reason.)
"""

from collections import deque
from collections.abc import Collection
from threading import Event, Lock, local

from scheduling.workers.held import Held
from scheduling.workers.vital import start_vital_thread

TOO_LONG = 0.002
"""Seconds in which somebody takes a claim, or somebody else is woken."""


class Backlog:
    """First in, first out. Any thread may take; one thread puts, and takes back."""

    def __init__(self, takers: int) -> None:
        self._takers = takers
        self._claims: deque[Held] = deque()
        self._taken = 0
        self._asleep: list[Lock] = []
        """What those who found nothing wait on, the one who sleeps longest first."""
        self._lock = Lock()
        self._this_thread = _Bed()
        self._needs_relief = Event()

    def start(self) -> None:
        start_vital_thread("relief", self._relieve)

    def __len__(self) -> int:
        return len(self._claims)

    def put(self, claims: Collection[Held], *, are_short: bool) -> None:
        """Short ones wake one thread, and that only if none is awake. Others wake one each."""
        with self._lock:
            self._claims.extend(claims)
            everybody_sleeps = len(self._asleep) == self._takers
            count = len(claims) if not are_short else 1 if everybody_sleeps else 0
            self._wake(count)
            if self._asleep:
                self._needs_relief.set()

    def take(self) -> Held:
        """The next claim, waited for."""
        while True:
            with self._lock:
                if self._claims:
                    self._taken += 1
                    return self._claims.popleft()
                bed = self._this_thread.lock
                self._asleep.append(bed)
            bed.acquire()

    def take_back(self) -> list[Held]:
        """The claims that nobody has got to. Nobody will."""
        with self._lock:
            claims = list(self._claims)
            self._claims.clear()
        return claims

    def _wake(self, count: int) -> None:
        for _ in range(min(count, len(self._asleep))):
            self._asleep.pop().release()

    def _relieve(self) -> None:
        """Wake another whenever nothing was taken for too long."""
        while self._needs_relief.wait():
            taken = self._taken
            pause.wait(TOO_LONG)
            with self._lock:
                if not (self._claims and self._asleep):
                    self._needs_relief.clear()
                elif self._taken == taken:
                    self._wake(1)


class _Bed(local):
    """What one thread sleeps on: a lock that it holds, and that somebody else lets go of."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.lock.acquire()


pause = Event()
"""Never set."""
