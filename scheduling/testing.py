"""For those who test tasks of their own: see what was enqueued, and run it here, in this thread and transaction.

Works inside Django's `TestCase` and in tests that commit, on both databases, and needs no worker.
"""

from collections.abc import Coroutine, Iterable
from datetime import timedelta
from typing import Any
from uuid import uuid4

from asgiref.sync import async_to_sync
from django.db.models import QuerySet

from scheduling import clock, ledger
from scheduling.compat import TaskResult, default_task_backend
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.ledger.dialects import dialect
from scheduling.ledger.values import Claim, Fail, Settlement
from scheduling.models import Task
from scheduling.results import result_of
from scheduling.workers.coroutines import Coroutines, Running
from scheduling.workers.executor import Executor
from scheduling.workers.held import Held
from scheduling.workers.timeouts import FOREVER, Watch

__all__ = ["assert_enqueued", "enqueued", "run_due_tasks"]

NO_TIME = timedelta()


def enqueued(task: LedgerTask | None = None) -> list[TaskResult]:
    """The tasks that were enqueued and are still kept, oldest first: of one function, or all of them."""
    rows = Task.objects.order_by("pk")
    return _results(rows if task is None else rows.filter(name=task.ledger_name))


def assert_enqueued(task: LedgerTask, *args: Any, **kwargs: Any) -> TaskResult:
    """That one task of that function was enqueued with these arguments, which is handed back.

    They are compared as JSON keeps them: a tuple is a list. AssertionError says what there was instead.
    """
    calls = enqueued(task)
    matching = [one for one in calls if (one.args, one.kwargs) == (list(args), kwargs)]
    if len(matching) == 1:
        return matching[0]
    told = "".join(f"\n  {_in_words(one.args, one.kwargs)}" for one in calls) or " nothing."
    raise AssertionError(
        f"{len(matching)} tasks {task.ledger_name}{_in_words(args, kwargs)} were enqueued, not 1. "
        f"Of that function there was:{told}"
    )


def run_due_tasks(
    *, ahead: timedelta = NO_TIME, may_fail: bool = False, at_most: int = 1000
) -> list[TaskResult]:
    """Run what is due, and what that enqueues, one after the other; hand back what came of each, in that order.

    `ahead` moves the ledger's clock: as if so much time had passed, which brings retries and scheduled tasks
    on. Pauses, caps and priorities hold. Timeouts do not, so that a debugger has time. An `async def` handler
    runs in this thread as well.

    A failed attempt is settled, and then raised as an AssertionError with the handler's traceback, unless it
    `may_fail`. So is having no end after `at_most` tasks.
    """
    here = _Here(ahead)
    results: list[TaskResult] = []
    while (claim := here.claim()) is not None:
        failure = here.run(claim)
        if failure and not may_fail:
            raise AssertionError(
                f"{claim.name} failed on attempt {claim.attempt}:\n{failure.failure.traceback}"
            )
        results += _results(Task.objects.filter(pk=claim.task_id))
        if len(results) >= at_most:
            raise AssertionError(f"There was no end after {at_most} tasks.")
    return results


class _InThisThread(Coroutines):
    def start(self, coroutine: Coroutine[Any, Any, Any]) -> Running:
        return _RunsHere(coroutine)


class _RunsHere:
    """A coroutine that runs when its result is waited for; what it takes to a thread comes to this one."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine

    def result(self) -> Any:
        return async_to_sync(self._await)()

    async def _await(self) -> Any:
        return await self._coroutine

    def interrupt(self) -> None:
        """Nobody keeps time here."""


class _Here:
    """As much of a worker as runs one task at a time."""

    def __init__(self, ahead: timedelta) -> None:
        self._worker = uuid4()
        self._ahead = ahead
        self._executor = Executor(Watch(tuple, lambda _: None), _InThisThread())

    def claim(self) -> Claim | None:
        now = dialect().now() + self._ahead
        ledger.promote(now=now)
        while (found := ledger.claim(self._worker, limit=1, now=now)).contended:
            if found.claims:
                break
        return next(iter(found.claims), None)

    def run(self, claim: Claim) -> Fail | None:
        """Run and settle it. How it failed, if it did."""
        held = Held(claim, place=0, claimed_at=clock.monotonic(), lease_ends_at=FOREVER)
        verdict = self._executor.execute(held)
        if not held.success:
            ledger.settle([Settlement(claim, verdict)], now=dialect().now() + self._ahead)
        if held.span is not None:
            held.span.end(held.success or verdict)
        return verdict if isinstance(verdict, Fail) else None


def _results(rows: QuerySet[Task]) -> list[TaskResult]:
    related = rows.select_related("lease").prefetch_related("history")
    return [result_of(row, default_task_backend.alias) for row in related]


def _in_words(args: Iterable[Any], kwargs: dict[str, Any]) -> str:
    return (
        f"({', '.join([*map(repr, args), *(f'{name}={one!r}' for name, one in kwargs.items())])})"
    )
