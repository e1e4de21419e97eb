"""What the verbs ask for, done on PostgreSQL: in as few round trips as its locks allow."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Cursor

from scheduling.ledger import topics
from scheduling.ledger.dialects.interface import Listener
from scheduling.ledger.dialects.postgres import notifications
from scheduling.ledger.dialects.postgres import statements as sql
from scheduling.ledger.dialects.values import (
    FIGURES,
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
from scheduling.models import Dispatch
from scheduling.states import Readiness


class Postgres:
    """See `Dialect`, which this implements."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        """For one verb, in the thread that the connection belongs to."""
        self._connection = connection

    def devote(self) -> None:
        """Plan by keys, whatever statistics say: on a ledger that grew since, a scan would be kept for long."""
        self._run("SET enable_seqscan = off")
        self._run("SET enable_bitmapscan = off")  # it does not mark what is dead in an index
        self._run("SET jit = off")
        self._run("SET plan_cache_mode = force_generic_plan")  # planning takes longer than running

    def file(self) -> Path | None:
        return None

    def now(self) -> datetime:
        return _utc(self._run("SELECT clock_timestamp()").fetchone()[0])

    # Enqueue

    def admit(
        self, tenant_id: int, count: int, now: datetime | None, *, rated: bool
    ) -> datetime | None:
        values = {"tenant": tenant_id, "count": count, "now": now, "rated": rated}
        row = self._run(sql.ADMIT, values).fetchone()
        return _utc(row[0]) if row else None

    def usage(self, tenant_id: int, now: datetime | None) -> Usage | None:
        row = self._run(sql.USAGE, {"tenant": tenant_id, "now": now}).fetchone()
        return Usage(*row) if row else None

    def accept_one(self, task_id: UUID, task: NewTask, now: datetime | None) -> datetime | None:
        """One round trip instead of eight. In a transaction of the caller's a failure would end that."""
        if self._connection.in_atomic_block or not self._connection.get_autocommit():
            return None
        values = {
            "now": now,
            "id": task_id,
            "tenant": task.tenant_id,
            "name": task.name,
            "queue": task.queue,
            "args": task.args_json,
            "kwargs": task.kwargs_json,
            "priority": task.priority,
            "due_at": task.due_at,
            "max_attempts": task.max_attempts,
            "timeout_seconds": task.timeout_seconds,
            "deadline": task.deadline,
            "key": task.idempotency_key,
            "fingerprint": task.fingerprint,
            "trace_context": task.trace_context,
            "label": task.label,
            "channel": notifications.CHANNEL,
            "work": topics.WORK,
            "due": topics.DUE,
            "soon": topics.SLOWEST_LOOK,
        }
        try:
            row = self._run(sql.ACCEPT_ONE, values).fetchone()
        except IntegrityError:  # somebody stored the key at the same moment
            return None
        return _utc(row[0]) if row else None

    def tasks_with_keys(
        self, keys: Collection[tuple[int, str]]
    ) -> Mapping[tuple[int, str], tuple[UUID, str | None]]:
        rows = self._run(sql.TASKS_WITH_KEYS, _columns(keys, 2))
        return {(tenant, key): (task, fingerprint) for tenant, key, task, fingerprint in rows}

    def insert_tasks(self, rows: Sequence[tuple[UUID, NewTask]], now: datetime) -> None:
        columns = _columns(
            [
                (
                    task_id,
                    task.tenant_id,
                    task.name,
                    task.queue,
                    task.args_json,
                    task.kwargs_json,
                    task.priority,
                    task.max_attempts,
                    task.timeout_seconds,
                    task.deadline,
                    task.idempotency_key,
                    task.fingerprint,
                    task.trace_context,
                    task.label,
                )
                for task_id, task in rows
            ],
            14,
        )
        self._run(sql.INSERT_TASKS, [now, *columns])

    def insert_schedules(self, rows: Sequence[tuple[UUID, int, int, datetime, Readiness]]) -> None:
        self._run(sql.INSERT_SCHEDULES, _columns([(*row[:4], row[4].value) for row in rows], 5))

    def share_lanes(self, lanes: Collection[tuple[int, str]]) -> Mapping[tuple[int, str], int]:
        wanted = _columns(lanes, 2)
        found = self._share_lanes(wanted)
        if len(found) < len(lanes):
            self._run(sql.ADD_LANES, wanted)
            found = self._share_lanes(wanted)
        return found

    def _share_lanes(self, wanted: list[list[Any]]) -> dict[tuple[int, str], int]:
        rows = self._run(sql.SHARE_LANES, wanted)
        return {(tenant, queue): lane_id for tenant, queue, lane_id in rows}

    def share_lane_ids(self, lane_ids: Collection[int]) -> None:
        self._run(sql.SHARE_LANE_IDS, [list(lane_ids)])

    def free_lanes(self, lane_ids: Collection[int]) -> set[int]:
        return {lane_id for (lane_id,) in self._run(sql.FREE_LANES, {"lanes": list(lane_ids)})}

    def activate_lanes(self, lane_ids: Collection[int]) -> int:
        return int(self._run(sql.ACTIVATE_LANES, [sorted(lane_ids)]).rowcount)

    # Claim

    def take_turn(self, now: datetime | None) -> datetime:
        _, at = self._take_turn(now, Dispatch.EVERY_QUEUE)
        return at

    def begin_claim(
        self, reach: Reach, limit: int, now: datetime | None, pool: str, heads: int
    ) -> Turn:
        """In one round trip, but for the first claim of a pool."""
        pools = _pools(pool)
        with self._together():
            turn = self._run(sql.TAKE_TURN, [pools])
            pauses = self._run(sql.PAUSES, [now])
            lanes = self._ready_lanes(reach, 0, limit, heads)
        rows = turn.fetchall()
        if len(rows) < len(pools):
            self._take_turn(now, pool)
            return self.begin_claim(reach, limit, now, pool, heads)
        reached, at = _reached(rows, now, pool)
        ready = lanes.fetchall()
        return Turn(
            reached=reached,
            at=at,
            pauses=pauses.fetchall(),
            lanes=_lane_shares(ready),
            heads=[
                Head(task, lane, _utc(due_at), None) for lane, *_, task, due_at in ready if task
            ],
        )

    def _take_turn(self, now: datetime | None, pool: str) -> tuple[float, datetime]:
        pools = _pools(pool)
        rows = self._run(sql.TAKE_TURN, [pools]).fetchall()
        if len(rows) < len(pools):
            for one in (Dispatch.EVERY_QUEUE, pool):  # only who holds the first adds another
                self._run(sql.FIRST_TURN, [one])
                self._run(sql.TAKE_TURN, [[one]])
            return self._take_turn(now, pool)
        return _reached(rows, now, pool)

    def ready_lanes(self, reach: Reach, skip: int, limit: int) -> list[LaneShare]:
        return _lane_shares(self._ready_lanes(reach, skip, limit, 0))

    def _ready_lanes(self, reach: Reach, skip: int, limit: int, heads: int) -> Any:
        statement, values = _among(reach)
        limits = {"skip": skip, "limit": limit, "first": skip + limit, "heads": heads}
        return self._run(_limited(statement, limits), values)

    def heads(self, wanted: Mapping[int, int], *, named: bool) -> list[Head]:
        rows = self._run(
            sql.NAMED_HEADS if named else sql.UNNAMED_HEADS, _columns(wanted.items(), 2)
        )
        return [Head(task, lane_id, _utc(due_at), name) for task, lane_id, due_at, name in rows]

    def set_readiness(self, task_ids: Collection[UUID], readiness: Readiness) -> None:
        self._run(sql.SET_READINESS, [readiness.value, list(task_ids)])

    def start(
        self,
        chosen: Sequence[tuple[Head, LaneShare]],
        worker: UUID,
        lease: timedelta,
        now: datetime | None,
        serving: Serving,
    ) -> tuple[datetime, list[Started], bool]:
        """In one round trip, with the commit; Django's own finds nothing left to commit.

        An empty lane is locked before the statement that looks whether it still is. A lane that somebody
        else is activating, found ready already, keeps its virtual time: a claim does not wait for what may be a
        long transaction.
        """
        values = {
            "now": now,
            "tasks": _uuids(head.task_id for head, _ in chosen),
            "worker": worker,
            "lease": lease,
            "seconds": lease.total_seconds(),
        }
        with self._together():
            rows = self._run(sql.START, values)
            if serving.empty:
                self._run(sql.LOCK_EMPTY_LANES, [sorted(serving.empty)])
            lanes = self._serve_lanes(serving)
            if self._is_outermost():
                self._connection.connection.commit()
        retired = {lane_id for lane_id, is_retired in lanes if is_retired}
        (at, *first), *others = rows.fetchall()
        started = [first, *(row for _, *row in others)] if first[0] else []
        return _utc(at), [Started(*row) for row in started], retired.issuperset(serving.empty)

    def _serve_lanes(self, serving: Serving) -> Any:
        tenants, turns = _columns(serving.turns.items(), 2)
        lanes, served_at = _columns(serving.served_at.items(), 2)
        values = {
            "tenants": tenants,
            "turns": turns,
            "lanes": lanes,
            "served_at": served_at,
            "queues": None if serving.reach.queues is None else list(serving.reach.queues),
            "apart": list(serving.reach.apart),
            "retires": bool(serving.empty),
            "reached": serving.reached,
            "pool": serving.pool,
        }
        return self._run(sql.SERVE_LANES, values)

    def hold_lanes(self, lane_ids: Collection[int]) -> int:
        return int(self._run(sql.HOLD_LANES, [sorted(lane_ids)]).rowcount)

    # Renew, settle, reap

    def renew(
        self, tokens: Sequence[Token], now: datetime | None, seconds: float
    ) -> tuple[datetime, set[Token]]:
        length = timedelta(seconds=seconds)
        rows = list(self._run(sql.RENEW, [*_columns(tokens, 3), now, length, seconds]))
        expiries = [_utc(expires_at) for expires_at, *_ in rows]
        return (
            min(expiries, default=(now or self.now()) + length),
            {(task, generation, worker) for _, task, generation, worker in rows},
        )

    def end_leases(
        self, tokens: Sequence[Token], unchanged_since: Sequence[datetime] | None = None
    ) -> list[int]:
        marks = list(unchanged_since) if unchanged_since is not None else [None] * len(tokens)
        return [place for (place,) in self._run(sql.END_LEASES, [*_columns(tokens, 3), marks])]

    def succeed(
        self, worker: UUID, results: Sequence[tuple[UUID, int, str]], now: datetime | None
    ) -> list[int] | None:
        values = {
            "now": now,
            "tasks": _uuids(task_id for task_id, _, _ in results),
            "generations": _integers(generation for _, generation, _ in results),
            "results": _texts(result for _, _, result in results),
            "worker": worker,
        }
        return [place for (place,) in self._run(sql.SUCCEED, values)]

    def held_leases(self, worker: UUID | None) -> list[HeldLease]:
        rows = (
            self._run(sql.HELD_LEASES)
            if worker is None
            else self._run(sql.HELD_LEASES_OF_WORKER, [worker])
        )
        return [HeldLease(*row) for row in rows]

    def standings(self, task_ids: Collection[UUID]) -> Mapping[UUID, Standing]:
        return {task: Standing(*row) for task, *row in self._run(sql.STANDINGS, [list(task_ids)])}

    def finish(self, endings: Sequence[Ending], now: datetime) -> None:
        columns = _columns(
            [
                (
                    ending.lease.task_id,
                    ending.lease.generation,
                    ending.number,
                    ending.lease.worker,
                    ending.lease.due_at,
                    ending.lease.acquired_at,
                    ending.outcome.value,
                    ending.failure_json,
                    ending.state.value,
                    ending.attempts,
                    ending.state.is_terminal,
                    ending.result_json,
                    ending.error_json,
                    ending.dead_reason,
                )
                for ending in endings
            ],
            14,
        )
        self._run(sql.FINISH, [*columns, now, now])

    def add_finished(self, counts: Mapping[int, int]) -> None:
        self._run(sql.ADD_FINISHED, _columns(counts.items(), 2))

    def add_throughput(self, tallies: Mapping[int, Tally], minute: datetime) -> None:
        at = minute.isoformat()
        self._add_figures(
            sql.ADD_THROUGHPUT,
            [
                {"tenant_id": tenant_id, "minute": at, **_named(tally.figures())}
                for tenant_id, tally in tallies.items()
            ],
        )

    def add_hours(self, sums: Mapping[tuple[int, datetime], Sequence[float]]) -> None:
        self._add_figures(
            sql.ADD_HOURS,
            [
                {"of_tenant": of_tenant, "hour": hour.isoformat(), **_named(figures)}
                for (of_tenant, hour), figures in sums.items()
            ],
        )

    def add_totals(self, sums: Mapping[int, Sequence[float]]) -> None:
        self._add_figures(
            sql.ADD_TOTALS,
            [{"tenant_id": tenant_id, **_named(figures)} for tenant_id, figures in sums.items()],
        )

    def _add_figures(self, statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """In one text, of which the server takes what its columns are called: thirty arrays take longer."""
        self._run(statement, [json.dumps(rows)])

    # Promote

    def next_due(self) -> datetime | None:
        due_at = self._run(sql.NEXT_DUE).fetchone()[0]
        return _utc(due_at) if due_at else None

    def due_schedules(
        self, now: datetime, limit: int, *, apart_from: Collection[int] = ()
    ) -> list[tuple[UUID, int]]:
        return list(self._run(sql.DUE_SCHEDULES, [now, list(apart_from), limit]))

    # Wake

    def wake_after_commit(self, topic: str) -> None:
        """NOTIFY is part of the transaction, and sent by its commit."""
        self._run("SELECT pg_notify(%s, %s)", [notifications.CHANNEL, topic])

    def listen(self) -> Listener:
        return notifications.NotificationListener()

    def _is_outermost(self) -> bool:
        """Whether the `atomic` block that a verb began is the whole transaction."""
        return self._connection.commit_on_exit and not self._connection.savepoint_ids

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Statements inside are sent at once, and what they answer is read after."""
        self._connection.ensure_connection()
        with self._connection.wrap_database_errors, self._connection.connection.pipeline():
            yield

    def _run(self, statement: str, values: Any = ()) -> Any:
        """Execute on a cursor of the driver's own, for which the server prepares what it is sent again.

        Django's writes the values into the text, so that it is planned each time: longer than it runs.
        """
        self._connection.ensure_connection()
        with self._connection.wrap_database_errors:
            return Cursor(self._connection.connection).execute(statement, values)


def _columns(rows: Collection[Sequence[Any]], width: int) -> list[list[Any]]:
    """Rows as the arrays that `unnest` takes."""
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]


def _among(reach: Reach) -> tuple[str, dict[str, Any]]:
    """The statement that looks at the lanes within reach, and what it is told of them."""
    if reach.queues is None:
        return sql.READY_LANES_ANY_QUEUE, {"apart": list(reach.apart)}
    queues = list(reach.queues)
    if reach.tenant_id is None:
        return sql.READY_LANES_IN_QUEUES, {"queues": queues}
    return sql.READY_LANES_OF_TENANT, {"queues": queues, "tenant": reach.tenant_id}


def _limited(statement: str, limits: Mapping[str, int]) -> str:
    """With numbers where it names limits, for the planner."""
    for name, limit in limits.items():
        statement = statement.replace(f"%({name})s", str(limit))
    return statement


def _named(figures: Sequence[float]) -> dict[str, float]:
    return dict(zip(FIGURES, figures, strict=True))


def _lane_shares(rows: Iterable[Sequence[Any]]) -> list[LaneShare]:
    """Of rows that name a lane once for each of its heads."""
    return [LaneShare(*lane) for lane in dict.fromkeys(tuple(row[:-2]) for row in rows)]


def _pools(pool: str) -> list[str]:
    """Whose rows a claim of this pool locks."""
    return sorted({Dispatch.EVERY_QUEUE, pool})


def _reached(
    rows: Sequence[tuple[str, float, datetime]], now: datetime | None, pool: str
) -> tuple[float, datetime]:
    reached = {name: virtual_time for name, virtual_time, _ in rows}
    return reached[pool], now or _utc(rows[-1][2])


def _uuids(values: Iterable[UUID]) -> str:
    """An array as the server reads it: the driver takes longer over a list than the statement over the array."""
    return "{" + ",".join([value.hex for value in values]) + "}"


def _integers(values: Iterable[int]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def _texts(values: Iterable[str]) -> str:
    quoted = [value.replace("\\", "\\\\").replace('"', '\\"') for value in values]
    return '{"' + '","'.join(quoted) + '"}' if quoted else "{}"


def _utc(instant: datetime) -> datetime:
    return instant.astimezone(UTC)
