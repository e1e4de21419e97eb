"""What passes between the verbs and a database. Values, as those of the verbs themselves."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from scheduling import spread
from scheduling.ledger.values import Claim
from scheduling.models.throughput import RAN, TALLIED, WAITED
from scheduling.states import Outcome, TaskState

Token = tuple[UUID, int, UUID]
"""(task, generation, worker): what names a lease."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which lanes a claim may serve. Sets of queues, so that no lane is looked at twice."""

    queues: frozenset[str] | None = None
    """None: every queue but those apart."""
    apart: frozenset[str] = frozenset()
    """Queues of remote workers; empty when `queues` are named."""
    tenant_id: int | None = None
    """Whose lanes, and only with `queues`. None: everybody's."""


@dataclass(frozen=True, slots=True)
class LaneShare:
    """A ready lane as dispatch sees it."""

    lane_id: int
    tenant_id: int
    tenant: str
    queue: str
    virtual_time: float
    served_at: float
    weight: int
    room: int | None
    """How many more leases the tenant may have, less than none after its cap was lowered. None: no cap."""

    def place(self) -> tuple[float, float, int]:
        """Lanes are served in this order."""
        return self.virtual_time, self.served_at, self.lane_id


@dataclass(frozen=True, slots=True)
class Turn:
    """What a claim begins with."""

    reached: float
    """By the dispatch of its pool, in virtual time."""
    at: datetime
    pauses: Sequence[tuple[int | None, str, str]]
    """Those in force, as (tenant, queue, name)."""
    lanes: Sequence[LaneShare]
    """Ready ones, the first that are served."""
    heads: Sequence["Head"] | None
    """The first few of each of those lanes, in dispatch order, without names. None: nobody looked."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What a claim writes of dispatch."""

    pool: str
    """Empty: of nothing but the lanes, for one tenant by itself takes part in no dispatch."""
    reach: Reach
    reached: float
    turns: Mapping[int, float]
    """The virtual time of each tenant that was served or has an empty lane: of all its ready lanes here."""
    served_at: Mapping[int, float]
    """Of each lane that was served."""
    empty: Collection[int]
    """Lanes in which nothing is left; of tenants in `turns`."""


@dataclass(frozen=True, slots=True)
class Head:
    """A schedule at the head of its lane."""

    task_id: UUID
    lane_id: int
    due_at: datetime
    name: str | None
    """Only when asked for, and then None as well if somebody deleted the task."""


@dataclass(frozen=True, slots=True)
class Started:
    """What a claim reads of a task while it marks it running."""

    task_id: UUID
    name: str
    args_json: str
    kwargs_json: str
    generation: int
    attempts: int
    max_attempts: int
    timeout_seconds: float | None
    deadline: datetime | None
    idempotency_key: str | None
    trace_context: str | None


class LeaseEnded(Protocol):
    """What ending a lease needs to know of it. A Claim tells it, and so does a HeldLease."""

    @property
    def task_id(self) -> UUID: ...
    @property
    def generation(self) -> int: ...
    @property
    def worker(self) -> UUID: ...
    @property
    def tenant_id(self) -> int: ...
    @property
    def lane_id(self) -> int: ...
    @property
    def due_at(self) -> datetime: ...
    @property
    def acquired_at(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Standing:
    """What an unsuccessful end needs to know of its task."""

    attempts: int
    max_attempts: int
    priority: int
    deadline: datetime | None
    cancel_requested: bool

    @classmethod
    def as_claimed(cls, claim: Claim) -> "Standing":
        """Enough for a success, which neither waits again nor asks whether it was to be cancelled."""
        return cls(claim.attempt - 1, claim.max_attempts, 0, None, cancel_requested=False)


@dataclass(frozen=True, slots=True)
class Ending:
    """Everything that settling one lease writes, decided."""

    lease: LeaseEnded
    outcome: Outcome
    state: TaskState
    number: int
    """The attempt's number, charged or not."""
    attempts: int
    """Charged so far, this one included if it is."""
    priority: int = 0
    due_at: datetime | None = None
    dead_reason: str | None = None
    result_json: str | None = None
    error_json: str | None = None
    """Class and message, for the task's row."""
    failure_json: str | None = None
    """With the traceback, for the attempt's."""


FIGURES = (*TALLIED, *WAITED, *RAN)
"""The columns of a tenant's minute."""
NOTHING_TIMED = spread.counts([])


@dataclass(frozen=True, slots=True)
class Tally:
    """What one batch adds to a tenant's minute."""

    succeeded: int = 0
    retried: int = 0
    dead: int = 0
    cancelled: int = 0
    lost: int = 0
    ended: int = 0
    wait_seconds: float = 0.0
    run_seconds: float = 0.0
    waited: tuple[int, ...] = NOTHING_TIMED
    """How many of those that ended had waited up to each of the bounds, as `spread.counts` tells them."""
    ran: tuple[int, ...] = NOTHING_TIMED

    def figures(self) -> tuple[float, ...]:
        """In the order of `FIGURES`."""
        return (
            self.succeeded,
            self.retried,
            self.dead,
            self.cancelled,
            self.lost,
            self.ended,
            self.wait_seconds,
            self.run_seconds,
            *self.waited,
            *self.ran,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """A tenant's limits, and how much of them it has used up, at one instant."""

    at: float
    """Seconds since the epoch, by the database's clock."""
    max_queued: int | None
    rate_per_second: float | None
    rate_burst: int
    accepted: int | None
    """None: nothing ever was."""
    finished: int
    full_at: float
    """As in Intake."""

    @property
    def unfinished(self) -> int:
        return (self.accepted or 0) - self.finished
