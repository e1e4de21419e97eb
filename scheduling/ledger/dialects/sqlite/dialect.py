"""What the verbs ask for, done on SQLite: by many cheap statements, since no network lies between."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from scheduling import clock
from scheduling.ledger import topics
from scheduling.ledger.dialects.interface import Listener
from scheduling.ledger.dialects.sqlite import fifos, stored
from scheduling.ledger.dialects.sqlite import statements as sql
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
from scheduling.sqlite.short import ShortTransaction
from scheduling.states import Readiness

if TYPE_CHECKING:
    from scheduling.sqlite.base import DatabaseWrapper


class NotAccepted(Exception):
    """Something is in the way of the short way, and the long one will tell what."""


class SQLite:
    """See `Dialect`, which this implements."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        """For one verb, in the thread that the connection belongs to."""
        self._connection = connection
        self._path = str(connection.settings_dict["NAME"])

    def devote(self) -> None:
        """The pragmas of every connection are the ledger's own."""

    def file(self) -> Path | None:
        path = Path(self._path)
        return path if path.is_file() else None  # of one in memory there is none

    def now(self) -> datetime:
        return clock.now()

    # Enqueue

    def admit(
        self, tenant_id: int, count: int, now: datetime | None, *, rated: bool
    ) -> datetime | None:
        now = now or self.now()
        values = {"tenant": tenant_id, "count": count, "now": now.timestamp(), "rated": rated}
        return now if self._run(sql.ADMIT, values).rowcount else None

    def usage(self, tenant_id: int, now: datetime | None) -> Usage | None:
        values = {"tenant": tenant_id, "now": (now or self.now()).timestamp()}
        row = self._run(sql.USAGE, values).fetchone()
        return Usage(*row) if row else None

    def accept_one(self, task_id: UUID, task: NewTask, now: datetime | None) -> datetime | None:
        """Inserts without looking for the key first: nearly all are new, and one that stands refuses it."""
        if self._connection.in_atomic_block or not self._connection.get_autocommit():
            return None
        now = now or self.now()
        try:
            with ShortTransaction(cast("DatabaseWrapper", self._connection)):
                topic = self._accept_one(task_id, task, now)
        except (IntegrityError, NotAccepted):
            return None
        if topic:
            self.wake_after_commit(topic)
        return now

    def _accept_one(self, task_id: UUID, task: NewTask, now: datetime) -> str | None:
        """What to wake workers for, if for anything. Raises NotAccepted, IntegrityError."""
        lane = self._run(sql.LANE_STANDS, (task.tenant_id, task.queue)).fetchone()
        if lane is None or self.admit(task.tenant_id, 1, now, rated=True) is None:
            raise NotAccepted
        due_at = task.due_at or now
        readiness = sql.READY if due_at <= now else sql.NOT_DUE
        self._run(sql.INSERT_TASK, stored.task_row(task_id, task, now))
        self._run(
            sql.INSERT_SCHEDULE,
            (task_id.hex, lane[0], task.priority, stored.text(due_at), readiness),
        )
        if readiness == sql.READY and lane[1] == sql.NOT_DUE and self.activate_lanes([lane[0]]):
            return topics.WORK
        if now < due_at <= now + topics.SLOWEST_LOOK:
            return topics.DUE
        return None

    def tasks_with_keys(
        self, keys: Collection[tuple[int, str]]
    ) -> Mapping[tuple[int, str], tuple[UUID, str | None]]:
        rows = self._run(sql.TASKS_WITH_KEYS, [json.dumps(list(keys))])
        return {(tenant, key): (UUID(task), fingerprint) for tenant, key, task, fingerprint in rows}

    def insert_tasks(self, rows: Sequence[tuple[UUID, NewTask]], now: datetime) -> None:
        self._run_many(
            sql.INSERT_TASK, [stored.task_row(task_id, task, now) for task_id, task in rows]
        )

    def insert_schedules(self, rows: Sequence[tuple[UUID, int, int, datetime, Readiness]]) -> None:
        self._run_many(
            sql.INSERT_SCHEDULE,
            [
                (task.hex, lane, priority, stored.text(due_at), readiness.value)
                for task, lane, priority, due_at, readiness in rows
            ],
        )

    def share_lanes(self, lanes: Collection[tuple[int, str]]) -> Mapping[tuple[int, str], int]:
        return {lane: self._lane(lane) for lane in sorted(lanes)}

    def _lane(self, lane: tuple[int, str]) -> int:
        found = (
            self._run(sql.FIND_LANE, lane).fetchone() or self._run(sql.ADD_LANE, lane).fetchone()
        )
        return int(found[0])

    def share_lane_ids(self, lane_ids: Collection[int]) -> None:
        """Nothing to do: no other writer is under way."""

    def free_lanes(self, lane_ids: Collection[int]) -> set[int]:
        """There is one writer at a time."""
        return set(lane_ids)

    def activate_lanes(self, lane_ids: Collection[int]) -> int:
        return int(self._run(sql.ACTIVATE_LANES, [json.dumps(list(lane_ids))]).rowcount)

    # Claim

    def take_turn(self, now: datetime | None) -> datetime:
        """The transaction is the turn."""
        return now or self.now()

    def begin_claim(
        self, reach: Reach, limit: int, now: datetime | None, pool: str, heads: int
    ) -> Turn:
        """A claim that finds nothing writes nothing, and syncs nothing."""
        row = self._run(sql.REACHED, [pool]).fetchone()
        if row is None:
            self._run(sql.FIRST_TURN, [pool])
        now = now or self.now()
        return Turn(
            reached=row[0] if row else 0.0,
            at=now,
            pauses=list(self._run(sql.PAUSES, [stored.text(now)])),
            lanes=self.ready_lanes(reach, 0, limit),
            heads=None,  # they are looked for when it is known how many are wanted
        )

    def ready_lanes(self, reach: Reach, skip: int, limit: int) -> list[LaneShare]:
        if reach.queues is None:
            values = [json.dumps(list(reach.apart)), limit, skip]
            return [LaneShare(*row) for row in self._run(sql.READY_LANES_ANY_QUEUE, values)]
        if reach.tenant_id is not None:
            values = [reach.tenant_id, json.dumps(list(reach.queues)), limit, skip]
            return [LaneShare(*row) for row in self._run(sql.READY_LANES_OF_TENANT, values)]
        first_of_each = [
            LaneShare(*row)
            for queue in reach.queues
            for row in self._run(sql.READY_LANES_IN_QUEUE, [queue, skip + limit, 0])
        ]
        return sorted(first_of_each, key=LaneShare.place)[skip : skip + limit]

    def heads(self, wanted: Mapping[int, int], *, named: bool) -> list[Head]:
        statement = sql.NAMED_HEADS if named else sql.HEADS
        return [
            head
            for lane_id, count in wanted.items()
            for head in self._heads_of(statement, lane_id, count)
        ]

    def _heads_of(self, statement: str, lane_id: int, count: int) -> list[Head]:
        """A schedule that cannot be read would stand before all others for ever, so it is set aside."""
        heads, broken = stored.read(
            self._run(statement, [lane_id, count]),
            lambda row: Head(UUID(row[0]), lane_id, stored.instant(row[1]), row[2]),
        )
        if not broken:
            return heads
        self._run(sql.SET_READINESS, [sql.HELD, json.dumps(broken)])
        return self._heads_of(statement, lane_id, count)

    def set_readiness(self, task_ids: Collection[UUID], readiness: Readiness) -> None:
        self._run(sql.SET_READINESS, [readiness.value, stored.hexes(task_ids)])

    def start(
        self,
        chosen: Sequence[tuple[Head, LaneShare]],
        worker: UUID,
        lease: timedelta,
        now: datetime | None,
        serving: Serving,
    ) -> tuple[datetime, list[Started], bool]:
        now = now or self.now()
        heads = {head.task_id.hex: (head, lane) for head, lane in chosen}
        rows = self._run(sql.START, [json.dumps(list(heads)), stored.text(now)])
        started = [
            Started(heads[task][0].task_id, *row, stored.instant_or_none(deadline), key, trace)  # type: ignore[call-arg]
            for task, *row, deadline, key, trace in rows
        ]
        self._run_many(sql.DROP_SCHEDULES, [(row.task_id.hex,) for row in started])
        grant = (worker.hex, stored.text(now), stored.text(now + lease), lease.total_seconds())
        leases = [(row, *heads[row.task_id.hex]) for row in started]
        self._run_many(
            sql.INSERT_LEASE,
            [
                (
                    row.task_id.hex,
                    lane.tenant_id,
                    lane.lane_id,
                    row.generation,
                    stored.text(head.due_at),
                    *grant,
                )
                for row, head, lane in leases
            ],
        )
        self._serve_lanes(serving)
        return now, started, True

    def _serve_lanes(self, round_: Serving) -> None:
        reach = round_.reach
        queues = None if reach.queues is None else json.dumps(list(reach.queues))
        apart = json.dumps(list(reach.apart))
        self._run_many(
            sql.MOVE_TENANT,
            [(at, tenant_id, queues, apart) for tenant_id, at in round_.turns.items()],
        )
        self._run_many(sql.MOVE_LANE, [(at, lane_id) for lane_id, at in round_.served_at.items()])
        if round_.empty:
            self._run(sql.RETIRE_LANES, [json.dumps(list(round_.empty))])
        self._run(sql.MOVE_DISPATCH, [round_.reached, round_.pool])

    def hold_lanes(self, lane_ids: Collection[int]) -> int:
        return int(self._run(sql.HOLD_LANES, [json.dumps(list(lane_ids))]).rowcount)

    # Renew, settle, reap

    def renew(
        self, tokens: Sequence[Token], now: datetime | None, seconds: float
    ) -> tuple[datetime, set[Token]]:
        expires_at = (now or self.now()) + timedelta(seconds=seconds)
        rows = self._run(sql.RENEW, [stored.text(expires_at), seconds, stored.tokens(tokens)])
        return expires_at, {
            (UUID(task), generation, UUID(worker)) for task, generation, worker in rows
        }

    def end_leases(
        self, tokens: Sequence[Token], unchanged_since: Sequence[datetime] | None = None
    ) -> list[int]:
        keys = [(task.hex, generation, worker.hex) for task, generation, worker in tokens]
        if unchanged_since is None:
            rows = self._run(sql.END_LEASES, [json.dumps(keys)])
        else:
            marks = zip(keys, unchanged_since, strict=True)
            rows = self._run(
                sql.END_UNRENEWED_LEASES, [json.dumps([(*k, stored.text(at)) for k, at in marks])]
            )
        ended = set(rows)
        return [place for place, key in enumerate(keys) if key in ended]

    def succeed(
        self, worker: UUID, results: Sequence[tuple[UUID, int, str]], now: datetime | None
    ) -> list[int] | None:
        return None  # a statement more or less costs nothing where no network lies between

    def held_leases(self, worker: UUID | None) -> list[HeldLease]:
        rows = (
            self._run(sql.HELD_LEASES)
            if worker is None
            else self._run(sql.HELD_LEASES_OF_WORKER, [worker.hex])
        )
        leases, _ = stored.read(
            rows,
            lambda row: HeldLease(
                task_id=UUID(row[0]),
                worker=UUID(row[1]),
                generation=int(row[2]),
                tenant_id=int(row[3]),
                lane_id=int(row[4]),
                due_at=stored.instant(row[5]),
                acquired_at=stored.instant(row[6]),
                expires_at=stored.instant(row[7]),
                seconds=float(row[8]),
            ),
        )
        return leases

    def standings(self, task_ids: Collection[UUID]) -> Mapping[UUID, Standing]:
        return {
            UUID(task): Standing(
                attempts,
                max_attempts,
                priority,
                stored.instant_or_none(deadline),
                cancel_requested=bool(cancel),
            )
            for task, attempts, max_attempts, priority, deadline, cancel in self._run(
                sql.STANDINGS, [stored.hexes(task_ids)]
            )
        }

    def finish(self, endings: Sequence[Ending], now: datetime) -> None:
        at = stored.text(now)
        self._run_many(
            sql.FINISH,
            [
                (
                    ending.state.value,
                    ending.attempts,
                    at if ending.state.is_terminal else None,
                    ending.result_json,
                    ending.error_json,
                    ending.dead_reason,
                    ending.lease.task_id.hex,
                )
                for ending in endings
            ],
        )
        self._run_many(
            sql.INSERT_ATTEMPT,
            [
                (
                    ending.lease.task_id.hex,
                    ending.lease.generation,
                    ending.number,
                    ending.lease.worker.hex,
                    stored.text(ending.lease.due_at),
                    stored.text(ending.lease.acquired_at),
                    at,
                    ending.outcome.value,
                    ending.failure_json,
                )
                for ending in endings
            ],
        )

    def add_finished(self, counts: Mapping[int, int]) -> None:
        self._run_many(sql.ADD_FINISHED, list(counts.items()))

    def add_throughput(self, tallies: Mapping[int, Tally], minute: datetime) -> None:
        at = stored.text(minute)
        self._run_many(
            sql.ADD_THROUGHPUT,
            [(tenant_id, at, *tally.figures()) for tenant_id, tally in tallies.items()],
        )

    def add_hours(self, sums: Mapping[tuple[int, datetime], Sequence[float]]) -> None:
        self._run_many(
            sql.ADD_HOURS,
            [
                (of_tenant, stored.text(hour), *figures)
                for (of_tenant, hour), figures in sums.items()
            ],
        )

    def add_totals(self, sums: Mapping[int, Sequence[float]]) -> None:
        self._run_many(
            sql.ADD_TOTALS, [(tenant_id, *figures) for tenant_id, figures in sums.items()]
        )

    # Promote

    def next_due(self) -> datetime | None:
        row = self._run(sql.NEXT_DUE).fetchone()
        return stored.instant(row[0]) if row else None

    def due_schedules(
        self, now: datetime, limit: int, *, apart_from: Collection[int] = ()
    ) -> list[tuple[UUID, int]]:
        return [
            (UUID(task), lane)
            for task, lane in self._run(sql.DUE_SCHEDULES, [stored.text(now), limit])
        ]

    # Wake

    def wake_after_commit(self, topic: str) -> None:
        """What has committed is not taken back because nobody could be told: that is logged."""
        transaction.on_commit(lambda: fifos.wake(self._path, topic), robust=True)

    def listen(self) -> Listener:
        return fifos.FifoListener(self._path)

    @cached_property
    def _driver(self) -> Any:
        self._connection.ensure_connection()
        return self._connection.connection

    def _run(self, statement: str, values: Any = ()) -> Any:
        """Execute on the driver's own cursor: the statements are in its own placeholder style."""
        with self._connection.wrap_database_errors:
            return self._driver.execute(statement, values)

    def _run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> Any:
        with self._connection.wrap_database_errors:
            return self._driver.executemany(statement, rows)
