"""Owns `?wait=`: requests that are held until their task is over.

One thread in each process looks for all of them together, a few times a second and only while somebody waits:
one query on primary keys, and settling a task costs nothing more than before.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from threading import Event, Lock, Thread
from typing import Any
from uuid import UUID

from django.db import Error, connections

from scheduling.api.v1 import waiting
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

    def until_over(self, task_id: UUID, seconds: float, environ: Mapping[str, Any]) -> None:
        """Return when the task is over or the time is up, or nobody can look."""
        over = Event()
        self._begin(task_id, over)
        try:
            waiting.until(over, seconds, environ)
        finally:
            self._end(task_id, over)

    def _begin(self, task_id: UUID, over: Event) -> None:
        with self._lock:
            self._waiting[task_id].add(over)
            if not self._is_kept:
                self._is_kept = True
                Thread(target=self._keep, name="waiting", daemon=True).start()

    def _end(self, task_id: UUID, over: Event) -> None:
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
                    connections.close_all()  # the next look is to have another one
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
