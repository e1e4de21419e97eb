"""The hot statements on SQLite.

`BEGIN IMMEDIATE` excludes every other writer, so nothing here locks rows, and what was read in the
transaction still holds when it writes. Many rows go in as one JSON array (`json_each`), because a
statement costs more than a row. UUIDs are stored as Django stores them, 32 hex digits; instants as text.
"""

import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from scheduling import clock
from scheduling.ledger import topics
from scheduling.ledger.dialects import fifos
from scheduling.ledger.dialects.interface import (
    Ending,
    Head,
    LaneShare,
    Listener,
    Reach,
    Serving,
    Standing,
    Started,
    Tally,
    Token,
    Turn,
)
from scheduling.ledger.values import HeldLease, NewTask
from scheduling.sqlite.short import ShortTransaction
from scheduling.states import Readiness

if TYPE_CHECKING:
    from scheduling.sqlite.base import DatabaseWrapper

logger = logging.getLogger(__name__)

Decoded = TypeVar("Decoded")

NOT_DUE, READY, HELD = Readiness.NOT_DUE.value, Readiness.READY.value, Readiness.HELD.value

ADMIT = """
    UPDATE scheduling_intake AS intake
    SET accepted = accepted + :count,
        full_at = CASE WHEN :rated AND tenant.rate_per_second IS NOT NULL
                       THEN max(full_at, :now) + :count / tenant.rate_per_second
                       ELSE full_at END
    FROM tenants_tenant AS tenant
    LEFT JOIN scheduling_outflow AS outflow ON outflow.tenant_id = tenant.id
    WHERE intake.tenant_id = :tenant
      AND tenant.id = :tenant
      AND (tenant.max_queued IS NULL
           OR intake.accepted + :count - coalesce(outflow.finished, 0) <= tenant.max_queued)
      AND (NOT :rated OR tenant.rate_per_second IS NULL
           OR max(full_at, :now) - :now + :count / tenant.rate_per_second
              <= tenant.rate_burst / tenant.rate_per_second + 1e-6)
"""
TASKS_WITH_KEYS = """
    SELECT task.tenant_id, task.idempotency_key, task.id, task.fingerprint
    FROM json_each(?) AS wanted
    JOIN scheduling_task AS task
      ON task.tenant_id = wanted.value ->> 0 AND task.idempotency_key = wanted.value ->> 1
"""
INSERT_TASK = """
    INSERT INTO scheduling_task
        (id, tenant_id, name, queue, args, kwargs, priority, state, generation, attempts, max_attempts,
         timeout_seconds, deadline, idempotency_key, fingerprint, created_at, trace_context)
    VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', 0, 0, ?, ?, ?, ?, ?, ?, ?)
"""
INSERT_SCHEDULE = """
    INSERT INTO scheduling_schedule (task_id, lane_id, priority, due_at, readiness)
    VALUES (?, ?, ?, ?, ?)
"""
LANE_STANDS = "SELECT id, readiness FROM scheduling_lane WHERE tenant_id = ? AND queue = ?"
FIND_LANE = "SELECT id FROM scheduling_lane WHERE tenant_id = ? AND queue = ?"
ADD_LANE = f"""
    INSERT INTO scheduling_lane (tenant_id, queue, virtual_time, served_at, readiness)
    VALUES (?, ?, 0, 0, {NOT_DUE}) RETURNING id
"""
ACTIVATE_LANES = f"""
    UPDATE scheduling_lane AS lane
    SET readiness = {READY},
        virtual_time = (SELECT max(sister.virtual_time) FROM scheduling_lane AS sister
                        WHERE sister.tenant_id = lane.tenant_id)
    FROM json_each(?) AS wanted
    WHERE lane.id = wanted.value AND lane.readiness = {NOT_DUE}
"""
REACHED = "SELECT virtual_time FROM scheduling_dispatch WHERE pool = ?"
FIRST_TURN = "INSERT INTO scheduling_dispatch (pool, virtual_time) VALUES (?, 0)"
PAUSES = """
    SELECT tenant_id, queue, name FROM scheduling_pause
    WHERE lifted_at IS NULL AND (expires_at IS NULL OR expires_at > ?)
"""
READY_LANES = f"""
    SELECT lane.id, lane.tenant_id, tenant.slug, lane.queue, lane.virtual_time, lane.served_at,
           tenant.weight,
           tenant.max_in_flight - (
               SELECT count(*) FROM scheduling_lease AS lease
               WHERE tenant.max_in_flight IS NOT NULL AND lease.tenant_id = lane.tenant_id)
    FROM scheduling_lane AS lane
    JOIN tenants_tenant AS tenant ON tenant.id = lane.tenant_id
    WHERE lane.readiness = {READY} AND {{which}}
    ORDER BY lane.virtual_time, lane.served_at, lane.id
    LIMIT ? OFFSET ?
"""
READY_LANES_ANY_QUEUE = READY_LANES.format(
    which="lane.queue NOT IN (SELECT value FROM json_each(?))"
)
READY_LANES_IN_QUEUE = READY_LANES.format(which="lane.queue = ?")
READY_LANES_OF_TENANT = READY_LANES.format(
    which="lane.tenant_id = ? AND lane.queue IN (SELECT value FROM json_each(?))"
)
HEADS = f"""
    SELECT schedule.task_id, iif(typeof(schedule.due_at) = 'text', schedule.due_at, NULL), NULL
    FROM scheduling_schedule AS schedule
    WHERE schedule.lane_id = ? AND schedule.readiness = {READY}
    ORDER BY schedule.priority DESC, schedule.due_at, schedule.task_id LIMIT ?
"""
NAMED_HEADS = f"""
    SELECT schedule.task_id, iif(typeof(schedule.due_at) = 'text', schedule.due_at, NULL), task.name
    FROM scheduling_schedule AS schedule
    LEFT JOIN scheduling_task AS task ON task.id = schedule.task_id
    WHERE schedule.lane_id = ? AND schedule.readiness = {READY}
    ORDER BY schedule.priority DESC, schedule.due_at, schedule.task_id LIMIT ?
"""
HOLD_LANES = f"""
    UPDATE scheduling_lane SET readiness = {HELD} FROM json_each(?) AS wanted
    WHERE scheduling_lane.id = wanted.value
"""
SET_READINESS = """
    UPDATE scheduling_schedule SET readiness = ? WHERE task_id IN (SELECT value FROM json_each(?))
"""
START = """
    UPDATE scheduling_task SET state = 'running', generation = generation + 1
    WHERE id IN (SELECT value FROM json_each(?))
      AND (deadline IS NULL OR (deadline > ? AND date(deadline) = substr(deadline, 1, 10)))
      AND typeof(generation) = 'integer'
      AND typeof(attempts) = 'integer' AND typeof(max_attempts) = 'integer'
      AND typeof(timeout_seconds) IN ('null', 'real', 'integer')
    RETURNING id, name, args, kwargs, generation, attempts, max_attempts, timeout_seconds,
              deadline || '', idempotency_key, trace_context
"""
DROP_SCHEDULES = "DELETE FROM scheduling_schedule WHERE task_id = ?"
INSERT_LEASE = """
    INSERT INTO scheduling_lease
        (task_id, tenant_id, lane_id, generation, due_at, worker, acquired_at, expires_at, seconds)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
MOVE_TENANT = f"""
    UPDATE scheduling_lane SET virtual_time = ?
    WHERE tenant_id = ? AND readiness = {READY}
      AND (?3 IS NULL OR queue IN (SELECT value FROM json_each(?3)))
      AND queue NOT IN (SELECT value FROM json_each(?4))
"""
MOVE_LANE = "UPDATE scheduling_lane SET served_at = ? WHERE id = ?"
RETIRE_LANES = f"""
    UPDATE scheduling_lane SET readiness = {NOT_DUE} FROM json_each(?) AS empty
    WHERE scheduling_lane.id = empty.value
"""
MOVE_DISPATCH = "UPDATE scheduling_dispatch SET virtual_time = ? WHERE pool = ?"
RENEW = """
    UPDATE scheduling_lease SET expires_at = ?, seconds = ?
    FROM json_each(?) AS token
    WHERE task_id = token.value ->> 0 AND generation = token.value ->> 1 AND worker = token.value ->> 2
    RETURNING task_id, generation, worker
"""
END_LEASES = """
    DELETE FROM scheduling_lease
    WHERE (task_id, generation, worker) IN (
        SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))
    RETURNING task_id, generation, worker
"""
END_UNRENEWED_LEASES = """
    DELETE FROM scheduling_lease
    WHERE (task_id, generation, worker, expires_at) IN (
        SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?))
    RETURNING task_id, generation, worker
"""
STANDINGS = """
    SELECT id, attempts, max_attempts, priority, deadline || '', cancel_requested_at IS NOT NULL
    FROM scheduling_task WHERE id IN (SELECT value FROM json_each(?))
      AND typeof(attempts) = 'integer' AND typeof(max_attempts) = 'integer'
      AND typeof(priority) = 'integer'
      AND (deadline IS NULL OR date(deadline) = substr(deadline, 1, 10))
"""
FINISH = """
    UPDATE scheduling_task
    SET state = ?, attempts = ?, finished_at = ?, result = ?, error = coalesce(?, error), dead_reason = ?
    WHERE id = ?
"""
INSERT_ATTEMPT = """
    INSERT INTO scheduling_attempt
        (task_id, generation, number, worker, due_at, started_at, finished_at, outcome, error)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
ADD_FINISHED = """
    INSERT INTO scheduling_outflow (tenant_id, finished) VALUES (?, ?)
    ON CONFLICT (tenant_id) DO UPDATE SET finished = finished + excluded.finished
"""
ADD_THROUGHPUT = """
    INSERT INTO scheduling_throughput
        (tenant_id, minute, succeeded, retried, dead, cancelled, lost, wait_seconds, run_seconds)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant_id, minute) DO UPDATE SET
        succeeded = succeeded + excluded.succeeded, retried = retried + excluded.retried,
        dead = dead + excluded.dead, cancelled = cancelled + excluded.cancelled,
        lost = lost + excluded.lost, wait_seconds = wait_seconds + excluded.wait_seconds,
        run_seconds = run_seconds + excluded.run_seconds
"""
HELD_LEASES = """
    SELECT task_id, worker, generation, tenant_id, lane_id, due_at || '', acquired_at || '',
           expires_at || '', seconds
    FROM scheduling_lease
"""
HELD_LEASES_OF_WORKER = f"{HELD_LEASES} WHERE worker = ?"
NEXT_DUE = f"""
    SELECT due_at || '' FROM scheduling_schedule
    WHERE readiness = {NOT_DUE} AND date(due_at) = substr(due_at, 1, 10) ORDER BY due_at LIMIT 1
"""
DUE_SCHEDULES = f"""
    SELECT task_id, lane_id FROM scheduling_schedule
    WHERE readiness = {NOT_DUE} AND due_at <= ? ORDER BY due_at LIMIT ?
"""


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

    def now(self) -> datetime:
        return clock.now()

    # Enqueue

    def admit(
        self, tenant_id: int, count: int, now: datetime | None, *, rated: bool
    ) -> datetime | None:
        now = now or self.now()
        values = {"tenant": tenant_id, "count": count, "now": now.timestamp(), "rated": rated}
        return now if self._run(ADMIT, values).rowcount else None

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
        lane = self._run(LANE_STANDS, (task.tenant_id, task.queue)).fetchone()
        if lane is None or self.admit(task.tenant_id, 1, now, rated=True) is None:
            raise NotAccepted
        due_at = task.due_at or now
        readiness = READY if due_at <= now else NOT_DUE
        self._run(INSERT_TASK, _task_row(task_id, task, now))
        self._run(INSERT_SCHEDULE, (task_id.hex, lane[0], task.priority, _text(due_at), readiness))
        if readiness == READY and lane[1] == NOT_DUE and self.activate_lanes([lane[0]]):
            return topics.WORK
        if now < due_at <= now + topics.SLOWEST_LOOK:
            return topics.DUE
        return None

    def tasks_with_keys(
        self, keys: Collection[tuple[int, str]]
    ) -> Mapping[tuple[int, str], tuple[UUID, str | None]]:
        rows = self._run(TASKS_WITH_KEYS, [json.dumps(list(keys))])
        return {(tenant, key): (UUID(task), fingerprint) for tenant, key, task, fingerprint in rows}

    def insert_tasks(self, rows: Sequence[tuple[UUID, NewTask]], now: datetime) -> None:
        self._run_many(INSERT_TASK, [_task_row(task_id, task, now) for task_id, task in rows])

    def insert_schedules(self, rows: Sequence[tuple[UUID, int, int, datetime, Readiness]]) -> None:
        self._run_many(
            INSERT_SCHEDULE,
            [
                (task.hex, lane, priority, _text(due_at), readiness.value)
                for task, lane, priority, due_at, readiness in rows
            ],
        )

    def share_lanes(self, lanes: Collection[tuple[int, str]]) -> Mapping[tuple[int, str], int]:
        return {lane: self._lane(lane) for lane in sorted(lanes)}

    def _lane(self, lane: tuple[int, str]) -> int:
        found = self._run(FIND_LANE, lane).fetchone() or self._run(ADD_LANE, lane).fetchone()
        return int(found[0])

    def share_lane_ids(self, lane_ids: Collection[int]) -> None:
        """Nothing to do: no other writer is under way."""

    def free_lanes(self, lane_ids: Collection[int]) -> set[int]:
        """There is one writer at a time."""
        return set(lane_ids)

    def activate_lanes(self, lane_ids: Collection[int]) -> int:
        return int(self._run(ACTIVATE_LANES, [json.dumps(list(lane_ids))]).rowcount)

    # Claim

    def take_turn(self, now: datetime | None) -> datetime:
        """The transaction is the turn."""
        return now or self.now()

    def begin_claim(self, reach: Reach, limit: int, now: datetime | None, pool: str) -> Turn:
        """A claim that finds nothing writes nothing, and syncs nothing."""
        row = self._run(REACHED, [pool]).fetchone()
        if row is None:
            self._run(FIRST_TURN, [pool])
        now = now or self.now()
        return Turn(
            reached=row[0] if row else 0.0,
            at=now,
            pauses=list(self._run(PAUSES, [_text(now)])),
            lanes=self.ready_lanes(reach, 0, limit),
        )

    def ready_lanes(self, reach: Reach, skip: int, limit: int) -> list[LaneShare]:
        if reach.queues is None:
            values = [json.dumps(list(reach.apart)), limit, skip]
            return [LaneShare(*row) for row in self._run(READY_LANES_ANY_QUEUE, values)]
        if reach.tenant_id is not None:
            values = [reach.tenant_id, json.dumps(list(reach.queues)), limit, skip]
            return [LaneShare(*row) for row in self._run(READY_LANES_OF_TENANT, values)]
        first_of_each = [
            LaneShare(*row)
            for queue in reach.queues
            for row in self._run(READY_LANES_IN_QUEUE, [queue, skip + limit, 0])
        ]
        return sorted(first_of_each, key=LaneShare.place)[skip : skip + limit]

    def heads(self, wanted: Mapping[int, int], *, named: bool) -> list[Head]:
        statement = NAMED_HEADS if named else HEADS
        return [
            head
            for lane_id, count in wanted.items()
            for head in self._heads_of(statement, lane_id, count)
        ]

    def _heads_of(self, statement: str, lane_id: int, count: int) -> list[Head]:
        """A schedule that cannot be read would stand before all others for ever, so it is set aside."""
        heads, broken = _read(
            self._run(statement, [lane_id, count]),
            lambda row: Head(UUID(row[0]), lane_id, _instant(row[1]), row[2]),
        )
        if not broken:
            return heads
        self._run(SET_READINESS, [HELD, json.dumps(broken)])
        return self._heads_of(statement, lane_id, count)

    def set_readiness(self, task_ids: Collection[UUID], readiness: Readiness) -> None:
        self._run(SET_READINESS, [readiness.value, _hexes(task_ids)])

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
        rows = self._run(START, [json.dumps(list(heads)), _text(now)])
        started = [
            Started(heads[task][0].task_id, *row, _instant_or_none(deadline), key, trace)  # type: ignore[call-arg]
            for task, *row, deadline, key, trace in rows
        ]
        self._run_many(DROP_SCHEDULES, [(row.task_id.hex,) for row in started])
        grant = (worker.hex, _text(now), _text(now + lease), lease.total_seconds())
        leases = [(row, *heads[row.task_id.hex]) for row in started]
        self._run_many(
            INSERT_LEASE,
            [
                (
                    row.task_id.hex,
                    lane.tenant_id,
                    lane.lane_id,
                    row.generation,
                    _text(head.due_at),
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
            MOVE_TENANT,
            [(at, tenant_id, queues, apart) for tenant_id, at in round_.turns.items()],
        )
        self._run_many(MOVE_LANE, [(at, lane_id) for lane_id, at in round_.served_at.items()])
        if round_.empty:
            self._run(RETIRE_LANES, [json.dumps(list(round_.empty))])
        self._run(MOVE_DISPATCH, [round_.reached, round_.pool])

    def hold_lanes(self, lane_ids: Collection[int]) -> int:
        return int(self._run(HOLD_LANES, [json.dumps(list(lane_ids))]).rowcount)

    # Renew, settle, reap

    def renew(
        self, tokens: Sequence[Token], now: datetime | None, seconds: float
    ) -> tuple[datetime, set[Token]]:
        expires_at = (now or self.now()) + timedelta(seconds=seconds)
        rows = self._run(RENEW, [_text(expires_at), seconds, _tokens(tokens)])
        return expires_at, {
            (UUID(task), generation, UUID(worker)) for task, generation, worker in rows
        }

    def end_leases(
        self, tokens: Sequence[Token], unchanged_since: Sequence[datetime] | None = None
    ) -> list[int]:
        keys = [(task.hex, generation, worker.hex) for task, generation, worker in tokens]
        if unchanged_since is None:
            rows = self._run(END_LEASES, [json.dumps(keys)])
        else:
            marks = zip(keys, unchanged_since, strict=True)
            rows = self._run(
                END_UNRENEWED_LEASES, [json.dumps([(*k, _text(at)) for k, at in marks])]
            )
        ended = set(rows)
        return [place for place, key in enumerate(keys) if key in ended]

    def succeed(
        self, worker: UUID, results: Sequence[tuple[UUID, int, str]], now: datetime | None
    ) -> list[int] | None:
        return None  # a statement more or less costs nothing where no network lies between

    def held_leases(self, worker: UUID | None) -> list[HeldLease]:
        rows = (
            self._run(HELD_LEASES)
            if worker is None
            else self._run(HELD_LEASES_OF_WORKER, [worker.hex])
        )
        leases, _ = _read(
            rows,
            lambda row: HeldLease(
                task_id=UUID(row[0]),
                worker=UUID(row[1]),
                generation=int(row[2]),
                tenant_id=int(row[3]),
                lane_id=int(row[4]),
                due_at=_instant(row[5]),
                acquired_at=_instant(row[6]),
                expires_at=_instant(row[7]),
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
                _instant_or_none(deadline),
                cancel_requested=bool(cancel),
            )
            for task, attempts, max_attempts, priority, deadline, cancel in self._run(
                STANDINGS, [_hexes(task_ids)]
            )
        }

    def finish(self, endings: Sequence[Ending], now: datetime) -> None:
        at = _text(now)
        self._run_many(
            FINISH,
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
            INSERT_ATTEMPT,
            [
                (
                    ending.lease.task_id.hex,
                    ending.lease.generation,
                    ending.number,
                    ending.lease.worker.hex,
                    _text(ending.lease.due_at),
                    _text(ending.lease.acquired_at),
                    at,
                    ending.outcome.value,
                    ending.failure_json,
                )
                for ending in endings
            ],
        )

    def add_finished(self, counts: Mapping[int, int]) -> None:
        self._run_many(ADD_FINISHED, list(counts.items()))

    def add_throughput(self, tallies: Mapping[int, Tally], minute: datetime) -> None:
        self._run_many(
            ADD_THROUGHPUT,
            [
                (
                    tenant_id,
                    _text(minute),
                    tally.succeeded,
                    tally.retried,
                    tally.dead,
                    tally.cancelled,
                    tally.lost,
                    tally.wait_seconds,
                    tally.run_seconds,
                )
                for tenant_id, tally in tallies.items()
            ],
        )

    # Promote

    def next_due(self) -> datetime | None:
        row = self._run(NEXT_DUE).fetchone()
        return _instant(row[0]) if row else None

    def due_schedules(
        self, now: datetime, limit: int, *, apart_from: Collection[int] = ()
    ) -> list[tuple[UUID, int]]:
        return [(UUID(task), lane) for task, lane in self._run(DUE_SCHEDULES, [_text(now), limit])]

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


def _task_row(task_id: UUID, task: NewTask, now: datetime) -> tuple[Any, ...]:
    return (
        task_id.hex,
        task.tenant_id,
        task.name,
        task.queue,
        task.args_json,
        task.kwargs_json,
        task.priority,
        task.max_attempts,
        task.timeout_seconds,
        _text(task.deadline) if task.deadline else None,
        task.idempotency_key,
        task.fingerprint,
        _text(now),
        task.trace_context,
    )


def _hexes(ids: Collection[UUID]) -> str:
    return json.dumps([one.hex for one in ids])


def _tokens(tokens: Sequence[Token]) -> str:
    return json.dumps([(task.hex, generation, worker.hex) for task, generation, worker in tokens])


@lru_cache(maxsize=4096)
def _text(instant: datetime) -> str:
    """As Django stores it: naive UTC. The same few instants are written many times over."""
    return str(instant.astimezone(UTC).replace(tzinfo=None))


def _instant(stored: str) -> datetime:
    """Columns are read as text (`|| ''`), because the driver's own parsing is slower, and all or nothing."""
    return datetime.fromisoformat(stored).replace(tzinfo=UTC)


def _instant_or_none(stored: str | None) -> datetime | None:
    return None if stored is None else _instant(stored)


def _read(rows: Iterable[Any], decode: Callable[[Any], Decoded]) -> tuple[list[Decoded], list[Any]]:
    """What the rows say, and the keys of those that say nothing: SQLite keeps whatever somebody writes by hand.

    One such row must not keep the others from being read. `checkledger` tells of what it leaves behind.
    """
    read, broken = [], []
    for row in rows:
        try:
            read.append(decode(row))
        except (AttributeError, TypeError, ValueError) as error:
            logger.error("The ledger holds a row that cannot be read (task %r): %s", row[0], error)
            broken.append(row[0])
    return read, broken
