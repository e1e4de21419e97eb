"""What a handler is told about its own execution, and what it can say beyond returning or raising."""

from datetime import datetime, timedelta
from threading import Event
from typing import NoReturn
from uuid import UUID

from scheduling import clock
from scheduling.compat import TaskContext, TaskResult, TaskResultStatus
from scheduling.errors import Snoozed
from scheduling.ledger.values import Claim
from scheduling.ledger_task import LedgerTask

LEASE_LOOK = timedelta(milliseconds=500)
"""How soon a waiting handler notices a lost lease."""


class Context(TaskContext):
    """The execution of one claim, as its handler sees it: the first argument of a task that takes `context`.

    `cancelled` and `lease_lost` are the worker's to set, from other threads, and stay set. A handler that
    sees either should return soon: what it returns then is not kept as a success of a task that was taken
    from it.
    """

    __slots__ = ("_cancelled", "_claim", "_lease_lost", "_task")
    __setattr__ = object.__setattr__  # that of a frozen dataclass with slots fails in subclasses

    def __init__(self, claim: Claim, task: LedgerTask, cancelled: Event, lease_lost: Event) -> None:
        self._claim = claim
        self._task = task
        self._cancelled = cancelled
        self._lease_lost = lease_lost

    def __repr__(self) -> str:
        return f"<Context of {self.task_id} generation {self.generation}>"

    @property
    def task_id(self) -> UUID:
        return self._claim.task_id

    @property
    def tenant(self) -> str:
        """The slug of the tenant that owns the task."""
        return self._claim.tenant

    @property
    def attempt(self) -> int:
        """1 for the first. A snoozed or released attempt gives its number back."""
        return self._claim.attempt

    @property
    def max_attempts(self) -> int:
        return self._claim.max_attempts

    @property
    def generation(self) -> int:
        return self._claim.generation

    @property
    def fencing_token(self) -> int:
        """Ordered per task: a store that remembers the highest it has seen can refuse an outdated worker."""
        return self._claim.fencing_token

    @property
    def deadline(self) -> datetime | None:
        """After when no further attempt starts."""
        return self._claim.deadline

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked the task to stop, or its time is up."""
        return self._cancelled.is_set()

    @property
    def lease_lost(self) -> bool:
        """Whether this worker no longer holds the task: nothing it does counts, another may be at it."""
        return self._lease_lost.is_set()

    @property
    def should_stop(self) -> bool:
        return self.cancelled or self.lease_lost

    def wait(self, delay: timedelta) -> bool:
        """Sleep, no longer than until the handler should stop; answers whether it should.

        For handlers that run in a thread; one that is `async def` has its event loop to sleep in.
        """
        until = clock.monotonic() + delay.total_seconds()
        while not self.should_stop and (left := until - clock.monotonic()) > 0:
            self._cancelled.wait(min(left, LEASE_LOOK.total_seconds()))
        return self.should_stop

    def snooze(self, delay: timedelta) -> NoReturn:
        """End this attempt here: uncharged, and due again after the delay. Raises Snoozed to do so."""
        raise Snoozed(delay)

    @property
    def task_result(self) -> TaskResult:  # type: ignore[override]  # made only for who asks
        """The task as Django's interface shows it, from what the claim knows: earlier workers have no names."""
        args, kwargs = self._claim.arguments()
        claim = self._claim
        return TaskResult(
            task=self._task,
            id=str(claim.task_id),
            status=TaskResultStatus.RUNNING,
            enqueued_at=None,
            started_at=claim.acquired_at,
            last_attempted_at=claim.acquired_at,
            finished_at=None,
            args=args,
            kwargs=kwargs,
            backend=self._task.backend,
            errors=[],
            worker_ids=[""] * (claim.attempt - 1) + [str(claim.worker)],
        )
