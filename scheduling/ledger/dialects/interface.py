"""What the verbs ask of a database. Every method runs inside the caller's transaction.

Locks are taken in one order: intake, schedule or lease, task, lane, outflow, throughput; several rows
of one table in the order of their keys. The row of Dispatch comes before all of them; who holds it, a claim
or the kill switch, waits for no lane that another holds.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from scheduling import spread
from scheduling.ledger.values import Claim, HeldLease, NewTask
from scheduling.models.throughput import RAN, TALLIED, WAITED
from scheduling.states import Outcome, Readiness, TaskState

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


class Dialect(Protocol):
    def devote(self) -> None:
        """Tell a new connection that it serves the ledger alone, so that it may be tuned for that."""

    def now(self) -> datetime:
        """The database's clock, in UTC."""

    # Enqueue

    def admit(
        self, tenant_id: int, count: int, now: datetime | None, *, rated: bool
    ) -> datetime | None:
        """Charge `count` tasks to the tenant's intake if its limits allow. None: refused, nothing changed.

        Answers the instant of the decision. `rated=False` leaves the rate limit out.
        """

    def usage(self, tenant_id: int, now: datetime | None) -> Usage | None:
        """What `admit` would decide by, read without a lock and of one instant. None: there is no such tenant."""

    def accept_one(self, task_id: UUID, task: NewTask, now: datetime | None) -> datetime | None:
        """Store one task in a transaction of its own, by the shortest way, and wake whom it must.

        Answers the instant of acceptance. None: nothing was stored, because a transaction is open already, or
        because something has to be looked at more closely: a key, a limit, a lane that is new.
        """

    def tasks_with_keys(
        self, keys: Collection[tuple[int, str]]
    ) -> Mapping[tuple[int, str], tuple[UUID, str | None]]:
        """The tasks that stand under these (tenant, idempotency key): id and fingerprint."""

    def insert_tasks(self, rows: Sequence[tuple[UUID, NewTask]], now: datetime) -> None:
        """Raises IntegrityError when a key was taken meanwhile."""

    def insert_schedules(self, rows: Sequence[tuple[UUID, int, int, datetime, Readiness]]) -> None:
        """(task, lane, priority, due_at, readiness) each."""

    def share_lanes(self, lanes: Collection[tuple[int, str]]) -> Mapping[tuple[int, str], int]:
        """The ids of these (tenant, queue), made if they are new, kept from being retired until commit."""

    def share_lane_ids(self, lane_ids: Collection[int]) -> None:
        """The same for lanes that are known to exist."""

    def free_lanes(self, lane_ids: Collection[int]) -> set[int]:
        """Of lanes that are shared: those in which work may be ready, because nobody else is activating them.

        The others are idle, and in the hands of a transaction that may be long, and may come to nothing.
        """

    def activate_lanes(self, lane_ids: Collection[int]) -> int:
        """Make lanes ready that had nothing due; answers how many. Share them first.

        They stand where their tenant has got to in any of its lanes: opening lanes earns nothing.
        """

    # Claim

    def take_turn(self, now: datetime | None) -> datetime:
        """Wait until no claim is under way, and let none begin before commit; the instant then."""

    def begin_claim(
        self, reach: Reach, limit: int, now: datetime | None, pool: str, heads: int
    ) -> Turn:
        """Wait for the turn to claim, hold it until commit, and look: all else is read after.

        Also for that many heads of each lane, where it saves asking for them later.
        """

    def ready_lanes(self, reach: Reach, skip: int, limit: int) -> list[LaneShare]:
        """Ready lanes in the order in which they are served, those after the first `skip`."""

    def heads(self, wanted: Mapping[int, int], *, named: bool) -> list[Head]:
        """For each lane the first so many ready schedules, in dispatch order, locked."""

    def set_readiness(self, task_ids: Collection[UUID], readiness: Readiness) -> None: ...

    def start(
        self,
        chosen: Sequence[tuple[Head, LaneShare]],
        worker: UUID,
        lease: timedelta,
        now: datetime | None,
        serving: Serving,
    ) -> tuple[datetime, list[Started], bool]:
        """Take tasks out of their schedules, and lease them to the worker under a new generation.

        Those past their deadline, or that cannot be read, are left as they are, and not in the answer. The
        instant of it is later than that of every end of a lease that the claim has seen.
        Also writes where tenants, lanes and dispatch have got to, and retires the lanes found empty. False: one of
        those may just be getting work, so it was left ready.
        The last that a claim does in its transaction, which it may commit: what follows takes its own locks.
        """

    def hold_lanes(self, lane_ids: Collection[int]) -> int:
        """Set lanes aside, but those that somebody else is activating; answers how many."""

    # Renew, settle, reap

    def renew(
        self, tokens: Sequence[Token], now: datetime | None, seconds: float
    ) -> tuple[datetime, set[Token]]:
        """Extend those leases that still stand under their token: the new expiry, and their tokens."""

    def end_leases(
        self, tokens: Sequence[Token], unchanged_since: Sequence[datetime] | None = None
    ) -> list[int]:
        """The fence: delete the leases that still stand under their token; the places of those that did.

        With `unchanged_since` (one expiry for each token) only those that were not renewed since.
        """

    def succeed(
        self, worker: UUID, results: Sequence[tuple[UUID, int, str]], now: datetime | None
    ) -> list[int] | None:
        """The end of leases that all succeeded, (task, generation, result) each, with all that it writes.

        Answers the places of those that stood under their token. None: there is no shorter way than by
        `end_leases`, `finish`, `add_finished` and `add_throughput`.
        """

    def held_leases(self, worker: UUID | None) -> list[HeldLease]:
        """The leases as they stand, of one worker or of all; without those that cannot be read."""

    def standings(self, task_ids: Collection[UUID]) -> Mapping[UUID, Standing]:
        """Read and lock tasks; without those that are gone, or cannot be read."""

    def finish(self, endings: Sequence[Ending], now: datetime) -> None:
        """Write the outcomes to their tasks, and append the attempts."""

    def add_finished(self, counts: Mapping[int, int]) -> None:
        """Add to the outflow of each tenant."""

    def add_throughput(self, tallies: Mapping[int, Tally], minute: datetime) -> None:
        """Add to the minute of each tenant. As below, those that are new are made."""

    def add_hours(self, sums: Mapping[tuple[int, datetime], Sequence[float]]) -> None:
        """Add figures, in the order of `FIGURES`, to hours: (tenant or `Hour.EVERYBODY`, hour)."""

    def add_totals(self, sums: Mapping[int, Sequence[float]]) -> None:
        """Add figures, in the order of `FIGURES`, to the totals of each tenant."""

    # Promote

    def next_due(self) -> datetime | None:
        """The first instant at which a schedule that is not ready becomes due."""

    def due_schedules(
        self, now: datetime, limit: int, *, apart_from: Collection[int] = ()
    ) -> list[tuple[UUID, int]]:
        """(task, lane) of those due and not ready, locked; without those of some lanes."""

    # Wake

    def wake_after_commit(self, topic: str) -> None:
        """Wake every listener once the transaction under way has committed; at once outside of one."""

    def listen(self) -> "Listener": ...


class Listener(Protocol):
    """Hears what is woken from when it is made until it is closed. Not shared between threads."""

    def fileno(self) -> int:
        """Readable when there is something to drain; for a selector."""

    def drain(self) -> set[str]:
        """The topics woken since the last time, without waiting. OperationalError: make a new one."""

    def close(self) -> None: ...
