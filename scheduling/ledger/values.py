"""What goes into the ledger's verbs and what comes out of them.

Values, not models: immutable, without a database behind them, safe to hand between threads. Instants
are aware UTC. A `Claim` can only be got by claiming, and settling accepts nothing less, so settling
without the fencing token cannot be written by accident.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, NamedTuple
from uuid import UUID

from scheduling import payload
from scheduling.states import Outcome, TaskState


class NewTask(NamedTuple):
    """A task to be accepted. Its parts have been validated; the ledger checks limits and keys only.

    A tuple, as `Accepted` is, because a batch has many, and dataclasses that are frozen take thrice as long to make.
    """

    tenant_id: int
    name: str
    queue: str = "default"
    args_json: str = "[]"
    kwargs_json: str = "{}"
    priority: int = 0
    due_at: datetime | None = None
    """None: at once."""
    max_attempts: int = 3
    timeout_seconds: float | None = None
    deadline: datetime | None = None
    idempotency_key: str | None = None
    fingerprint: str | None = None
    """Of the request that carried the key; another task under the same key is refused by it."""
    trace_context: str | None = None
    label: str | None = None


class Accepted(NamedTuple):
    """A task that is on disk once the surrounding transaction has committed."""

    task_id: UUID
    replayed: bool
    """True: the key was used before for this very task, and nothing new was stored."""
    created_at: datetime | None = None
    """When a new task was stored, as its row says. None for a replayed one, which is older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to run one task once: proof, in the form of (task, worker, generation)."""

    task_id: UUID
    worker: UUID
    generation: int
    tenant_id: int
    tenant: str
    """The tenant's slug."""
    lane_id: int
    name: str
    queue: str
    args_json: str
    kwargs_json: str
    attempt: int
    """1 for the first; what it will be charged as."""
    max_attempts: int
    timeout_seconds: float | None
    deadline: datetime | None
    due_at: datetime
    acquired_at: datetime
    expires_at: datetime
    idempotency_key: str | None = None
    trace_context: str | None = None

    @property
    def fencing_token(self) -> int:
        """Ordered per task: a store that remembers the highest it has seen can refuse a zombie."""
        return self.generation

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Decode the payload. Raises ValueError for a row that somebody corrupted."""
        try:
            args, kwargs = payload.reread(self.args_json), payload.reread(self.kwargs_json)
        except RecursionError as error:
            raise ValueError("The stored arguments are nested too deep to be read.") from error
        if not isinstance(args, list) or not isinstance(kwargs, dict):
            raise ValueError("The stored arguments are not a list and an object.")
        return args, kwargs


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as it is kept: bounded, and free of characters that a database refuses."""

    cls: str
    message: str
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Succeed:
    outcome: ClassVar = Outcome.SUCCEEDED
    result_json: str = "null"


@dataclass(frozen=True, slots=True)
class Fail:
    """The handler failed. `retry_in` None: another attempt cannot help."""

    outcome: ClassVar = Outcome.FAILED
    failure: Failure
    retry_in: timedelta | None
    unknown_handler: bool = False


@dataclass(frozen=True, slots=True)
class Snooze:
    """Run it again later, uncharged."""

    outcome: ClassVar = Outcome.SNOOZED
    delay: timedelta


@dataclass(frozen=True, slots=True)
class Release:
    """Hand it back unfinished, uncharged, due at once."""

    outcome: ClassVar = Outcome.RELEASED


@dataclass(frozen=True, slots=True)
class Stop:
    """It ended because its cancellation was requested."""

    outcome: ClassVar = Outcome.CANCELLED


@dataclass(frozen=True, slots=True)
class Lose:
    """The worker is gone or silent. Only the reaper says this."""

    outcome: ClassVar = Outcome.LOST
    retry_in: timedelta
    note: str = "The worker died or lost its lease."


Verdict = Succeed | Fail | Snooze | Release | Stop | Lose


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a worker has to say about a claim of its own."""

    claim: Claim
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of the task."""

    task_id: UUID
    generation: int
    state: TaskState
    due_at: datetime | None = None
    """When it is due again, if it is queued."""


@dataclass(frozen=True, slots=True)
class Stale:
    """A settlement or renewal that was refused: that generation no longer holds the task."""

    task_id: UUID
    generation: int


@dataclass(frozen=True, slots=True)
class Settling:
    """The answer to a batch of settlements: each one is in exactly one of the two lists."""

    settled: Sequence[Settled]
    stale: Sequence[Stale]


@dataclass(frozen=True, slots=True)
class Renewal:
    """The answer to a batch of renewals."""

    expires_at: datetime
    renewed: Collection[tuple[UUID, int]]
    """(task, generation) each."""
    stale: Sequence[Stale]
    cancel_requested: frozenset[UUID]
    """Of the tasks renewed: those somebody asked to stop."""


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease as it stands in the ledger: what a reaper watches."""

    task_id: UUID
    worker: UUID
    generation: int
    tenant_id: int
    lane_id: int
    due_at: datetime
    acquired_at: datetime
    expires_at: datetime
    seconds: float


@dataclass(frozen=True, slots=True)
class Receipt:
    """What pausing or resuming did."""

    paused: bool
    scope: str
    """`everything`, or what it covers: `tenant=acme queue=mail name=invoices.send`."""
    covers: str
    """The same as people say it: `tenant acme, queue mail, task invoices.send`."""
    reason: str
    by: str
    since: datetime
    expires_at: datetime | None
    in_flight: int
    """Tasks covered by the scope that were running at that moment; they finish."""
    changed: bool
    """Whether a pause was set or lifted: who resumes what is not paused changes nothing."""
