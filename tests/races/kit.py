"""Sessions that are stepped by hand, and crowds that start at the same instant.

Every thread has a connection of its own, and closes it. A race that matters is forced: one session holds
its transaction open, and the other is seen to wait before the first one goes on.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Barrier, get_ident
from types import TracebackType
from typing import Any, TypeVar
from uuid import UUID, uuid4

from django.db import connection, connections, transaction

from scheduling import ledger
from scheduling.ledger.values import Claim, NewTask, Settlement, Settling, Succeed, Verdict
from tenants.models import Tenant
from tests import waiting

T = TypeVar("T")
SUCCESS = Succeed()
LONGEST = 30.0
"""Seconds that a session may take for one step: far more than the database's own patience."""


class Session:
    """A thread with its own connection, that does one thing after another as it is told."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._ident: int = self.do(get_ident)
        self._pid: int | None = self.do(_backend_pid)

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.do(connections.close_all)
        self._thread.shutdown()

    def do(self, step: Callable[[], T]) -> T:
        """Do it there, wait for it, and answer what it answered."""
        return self.start(step).result(LONGEST)

    def start(self, step: Callable[[], T]) -> Future[T]:
        """Begin it there."""
        return self._thread.submit(step)

    def start_and_wait_for_a_lock(self, step: Callable[[], T]) -> Future[T]:
        """Begin it there, and come back once it waits for what another session holds."""
        future = self.start(step)
        self.wait_for_a_lock_or(future)
        assert not future.done(), f"it did not wait for the other session: {future}"
        return future

    def wait_for_a_lock_or(self, future: Future[T]) -> None:
        """Come back once the session waits for another one, or is done with what it was told."""
        waiting.until(
            lambda: future.done() or self._waits_for_a_lock(), what="for the session to wait"
        )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold a transaction open there; commit it at the end, or roll it back on an error."""
        block = transaction.atomic()
        self.do(block.__enter__)
        try:
            yield
        except BaseException as error:
            self.do(partial(block.__exit__, type(error), error, error.__traceback__))
            raise
        self.do(partial(block.__exit__, None, None, None))

    def _waits_for_a_lock(self) -> bool:
        if self._pid is None:
            return is_running_in(self._ident, "WriteGate.enter")
        with connection.cursor() as cursor:
            cursor.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [self._pid])
            return bool(cursor.fetchone()[0])


def roll_back() -> None:
    """Let the transaction that is open in this thread end as if it had failed."""
    transaction.set_rollback(True)


def _backend_pid() -> int | None:
    """Of the server process behind this thread's connection. None on SQLite, which has none."""
    if connection.vendor == "sqlite":
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def is_running_in(thread: int, function: str) -> bool:
    """Whether that function is on the stack of the thread with that ident."""
    frame = sys._current_frames().get(thread)
    while frame and frame.f_code.co_qualname != function:
        frame = frame.f_back
    return frame is not None


def at_once(*steps: Callable[[], T]) -> list[T]:
    """Do all of them at the same instant, each in a thread of its own; what they answered, in their order."""
    start = Barrier(len(steps))

    def do(step: Callable[[], T]) -> T:
        start.wait(LONGEST)
        try:
            return step()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=len(steps)) as threads:
        return list(threads.map(do, steps, timeout=LONGEST))


def many_at_once(count: int, step: Callable[[], T]) -> list[T]:
    return at_once(*[step] * count)


def flatten(lists: Sequence[Sequence[T]]) -> list[T]:
    return [one for many in lists for one in many]


# The verbs, by the database's own clock


def put(tenant: Tenant, count: int = 1, **options: Any) -> list[UUID]:
    task = NewTask(tenant_id=tenant.pk, **{"name": "demo.echo", **options})
    return [accepted.task_id for accepted in ledger.enqueue([task] * count)]


def take(limit: int = 1, **options: Any) -> list[Claim]:
    return ledger.claim(uuid4(), limit=limit, **options).claims


def say(claims: Sequence[Claim], verdict: Verdict = SUCCESS) -> Settling:
    return ledger.settle([Settlement(claim, verdict) for claim in claims])
