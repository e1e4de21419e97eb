"""What the verbs ask of a database. Every method runs inside the caller's transaction.

Locks are taken in one order: intake, schedule or lease, task, lane, outflow, throughput; several rows
of one table in the order of their keys. Dead letters come before intakes: only who redrives wants both.
The row of Dispatch comes before all of them; who holds it, a claim or the kill switch, waits for no lane
that another holds.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol
from uuid import UUID

from scheduling.ledger.dialects.values import (
    Ending,
    Head,
    LaneShare,
    Reach,
    Serving,
    Standing,
    Started,
    Tally,
    Token,
    Turn,
    Usage,
)
from scheduling.ledger.values import HeldLease, NewTask
from scheduling.states import Readiness


class Dialect(Protocol):
    def devote(self) -> None:
        """Tell a new connection that it serves the ledger alone, so that it may be tuned for that."""

    def file(self) -> Path | None:
        """The file that is the ledger. None: a server keeps it, and where is not for us to see."""

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
        """Add to the outflow of each tenant. Here and below rows are locked in their order, and new ones are made."""

    def add_throughput(self, tallies: Mapping[int, Tally], minute: datetime) -> None:
        """Add to the minute of each tenant."""

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
