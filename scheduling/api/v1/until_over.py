"""Owns `?wait=`: requests that are held until their task is over.

One thread in each process looks for all of them together, a few times a second and only while somebody waits:
one query on primary keys, and settling a task costs nothing more than before. Whoever waits holds a thread of
the web server, so only so many may, and the others are answered at once.
"""

from collections import defaultdict
from collections.abc import Collection
from threading import Event, Lock, Thread
from uuid import UUID

from django.conf import settings
from django.db import Error, connections

from scheduling.models import Task
from scheduling.states import TERMINAL

SECONDS_MAX = 30
LOOK = 0.1
"""Seconds between two looks."""


class Watch:
    """Who waits for which task. Shared by the threads of one process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: defaultdict[UUID, set[Event]] = defaultdict(set)
        self._is_kept = False
        self._pause = Event()

    def until_over(self, task_id: UUID, seconds: float) -> None:
        """Return when the task is over, the time is up, or at once when as many wait as may."""
        over = Event()
        if not self._take_seat(task_id, over):
            return
        try:
            over.wait(seconds)
        finally:
            self._leave_seat(task_id, over)

    def _take_seat(self, task_id: UUID, over: Event) -> bool:
        with self._lock:
            if sum(map(len, self._waiting.values())) >= settings.WEB_WAITERS:
                return False
            self._waiting[task_id].add(over)
            if not self._is_kept:
                self._is_kept = True
                Thread(target=self._keep, name="waiting", daemon=True).start()
            return True

    def _leave_seat(self, task_id: UUID, over: Event) -> None:
        with self._lock:
            self._waiting[task_id].discard(over)
            if not self._waiting[task_id]:
                del self._waiting[task_id]

    def _keep(self) -> None:
        """Look until nobody waits any more. What goes wrong is left to those who wait, and ask again."""
        try:
            while wanted := self._wanted():
                try:
                    self._wake(over_among(wanted))
                except Error:
                    self._wake(wanted)
                self._pause.wait(LOOK)
        finally:
            connections.close_all()

    def _wanted(self) -> list[UUID]:
        with self._lock:
            self._is_kept = bool(self._waiting)
            return list(self._waiting)

    def _wake(self, task_ids: Collection[UUID]) -> None:
        with self._lock:
            for task_id in task_ids:
                for over in self._waiting.get(task_id, ()):
                    over.set()


watch = Watch()


def over_among(task_ids: Collection[UUID]) -> set[UUID]:
    """Those that are finished."""
    over = Task.objects.filter(pk__among=task_ids, state__in=[str(state) for state in TERMINAL])
    return set(over.values_list("pk", flat=True))
