"""What a handler is told about its own execution, and what it can say beyond returning or raising."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from threading import Event
from typing import Any, NoReturn
from uuid import UUID

from scheduling import clock, ledger, returned, tracing
from scheduling.compat import TaskContext, TaskResult, TaskResultStatus
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.errors import Snoozed, StaleLease, WrongState
from scheduling.ledger.progress import Progress
from scheduling.ledger.values import Claim, Succeed
from scheduling.states import TaskState

LEASE_LOOK = timedelta(milliseconds=500)
"""How soon a waiting handler notices a lost lease."""


@dataclass(slots=True)
class Success:
    """What a block of `context.settle()` will have succeeded with."""

    result: Any
    """May be changed until the end of the block, when it is put into JSON."""
    verdict: Succeed | None = None
    """What the ledger is told. Known from the end of the block on."""


class Context(TaskContext):
    """The execution of one claim, as its handler sees it: the first argument of a task that takes `context`.

    `cancelled` and `lease_lost` are the worker's to set, from other threads, and stay set. A handler that
    sees either should return soon: what it returns then is not kept as a success of a task that was taken
    from it.
    """

    __slots__ = ("_cancelled", "_claim", "_lease_lost", "_task", "said", "success")
    __setattr__ = object.__setattr__  # that of a frozen dataclass with slots fails in subclasses

    def __init__(self, claim: Claim, task: LedgerTask, cancelled: Event, lease_lost: Event) -> None:
        self._claim = claim
        self._task = task
        self._cancelled = cancelled
        self._lease_lost = lease_lost
        self.said: Progress | None = None
        """What `progress` was last told."""
        self.success: Succeed | None = None
        """What `settle` has committed."""

    def __repr__(self) -> str:
        return f"<Context of {self.task_id} generation {self.generation}>"

    @property
    def task_id(self) -> UUID:
        """The same in every attempt."""
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
        """How many attempts are charged before the task is dead."""
        return self._claim.max_attempts

    @property
    def generation(self) -> int:
        """The task's, of this claim."""
        return self._claim.generation

    @property
    def fencing_token(self) -> int:
        """Ordered per task: a store that remembers the highest it has seen can refuse an outdated worker."""
        return self._claim.fencing_token

    @property
    def traceparent(self) -> str | None:
        """What to send along as `traceparent`, so that what others do for this attempt is in the same trace.

        The span that is current here, or else the one in which the task was enqueued. None: it was in none.
        """
        return tracing.current() or self._claim.trace_context

    @property
    def deadline(self) -> datetime | None:
        """After when no further attempt starts."""
        return self._claim.deadline

    @property
    def tick(self) -> datetime | None:
        """The instant by the rule for which a recurring task made this, however late it runs; None for any other task.

        Of a run by hand it is when somebody asked for it. Read from the ledger's database each time, so an `async
        def` handler gets it by `sync_to_async`.
        """
        return ledger.tick_of(self._claim.task_id)

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
        """Whether it is cancelled, or its lease is lost."""
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

    def progress(self, made: float | tuple[int, int], note: str = "") -> None:
        """Say how far the handler has come: a fraction from 0 to 1, or (done, total); and what it is at.

        Costs next to nothing, however often it is called: the worker passes the latest word on with its next
        renewal, every third of a lease, and the API and the console show it while the task runs. Raises
        ValueError for what is no such fraction.
        """
        self.said = Progress.of(made, note)

    @contextmanager
    def settle(self, result: Any = None) -> Iterator[Success]:
        """Commit what the block writes to the ledger's database together with this task's success, or neither.

        To be the last thing a handler does: afterwards the task has succeeded, with this result, whatever the
        handler returns or raises. An exception out of the block rolls it back, and is an ordinary failure. A
        result that is known later can be set on what the block is given.

        Raises StaleLease, with the block rolled back, when this worker no longer holds the task; WrongState
        when it was settled before; RuntimeError inside another transaction; TransactionManagementError
        when the block has swallowed a database error. Django's ORM is synchronous: an `async def` handler calls a function with the block in it by
        `sync_to_async`.
        """
        if self.success:
            raise WrongState(self.task_id, TaskState.SUCCEEDED, "settled again")
        self._require_lease()
        success = Success(result)
        with ledger.settle_with(self._claim, partial(self._verdict, success)):
            yield success
        self.success = success.verdict

    def _verdict(self, success: Success) -> Succeed:
        self._require_lease()
        success.verdict = Succeed(returned.as_json(success.result))
        return success.verdict

    def _require_lease(self) -> None:
        """A worker that could not renew in time settles nothing, although the ledger might still let it."""
        if self.lease_lost:
            raise StaleLease(self.task_id, self.generation)

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
