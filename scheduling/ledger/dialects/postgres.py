"""The hot statements on PostgreSQL.

READ COMMITTED throughout: each statement sees what was committed when it began, so what must hold until
commit is locked first and read after. Claims take turns on the row of Dispatch. A lane is retired under
`FOR UPDATE`, which waits for nobody (SKIP LOCKED) and which nobody can get while an enqueue, that keeps
`FOR KEY SHARE` on it until it commits, may be about to give the lane work.
An UPDATE or DELETE takes its rows in whatever order it is planned in, so one that may meet another on
several rows locks them first, in the order of their keys.
Many rows go in as arrays (`unnest`): one round trip, one plan.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Cursor

from scheduling.ledger import topics
from scheduling.ledger.dialects import notifications
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
from scheduling.models import Dispatch
from scheduling.states import Readiness

NOT_DUE, READY, HELD = Readiness.NOT_DUE.value, Readiness.READY.value, Readiness.HELD.value

ADMIT = """
    UPDATE scheduling_intake AS intake
    SET accepted = intake.accepted + %(count)s,
        full_at = CASE WHEN %(rated)s AND tenant.rate_per_second IS NOT NULL
                       THEN greatest(intake.full_at, clock.at) + %(count)s / tenant.rate_per_second
                       ELSE intake.full_at END
    FROM tenants_tenant AS tenant
    LEFT JOIN scheduling_outflow AS outflow ON outflow.tenant_id = tenant.id
    CROSS JOIN LATERAL (
        SELECT extract(epoch FROM coalesce(%(now)s::timestamptz, clock_timestamp()))::float8 AS at
    ) AS clock
    WHERE intake.tenant_id = %(tenant)s
      AND tenant.id = %(tenant)s
      AND (tenant.max_queued IS NULL
           OR intake.accepted + %(count)s - coalesce(outflow.finished, 0) <= tenant.max_queued)
      AND (NOT %(rated)s OR tenant.rate_per_second IS NULL
           OR greatest(intake.full_at, clock.at) - clock.at + %(count)s / tenant.rate_per_second
              <= tenant.rate_burst / tenant.rate_per_second + 1e-6)
    RETURNING coalesce(%(now)s::timestamptz, clock_timestamp())
"""
ACCEPT_ONE = f"""
    WITH clock AS MATERIALIZED (
        SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS at
    ), lane AS MATERIALIZED (
        SELECT id, tenant_id, readiness FROM scheduling_lane
        WHERE tenant_id = %(tenant)s AND queue = %(queue)s FOR KEY SHARE
    ), admitted AS (
        UPDATE scheduling_intake AS intake
        SET accepted = intake.accepted + 1,
            full_at = CASE WHEN tenant.rate_per_second IS NOT NULL
                           THEN greatest(intake.full_at, epoch.at) + 1 / tenant.rate_per_second
                           ELSE intake.full_at END
        FROM tenants_tenant AS tenant
        LEFT JOIN scheduling_outflow AS outflow ON outflow.tenant_id = tenant.id
        CROSS JOIN (SELECT extract(epoch FROM at)::float8 AS at FROM clock) AS epoch
        WHERE intake.tenant_id = %(tenant)s
          AND tenant.id = %(tenant)s
          AND EXISTS (SELECT FROM lane)
          AND NOT EXISTS (
              SELECT FROM scheduling_task
              WHERE tenant_id = %(tenant)s AND idempotency_key = %(key)s::text)
          AND (tenant.max_queued IS NULL
               OR intake.accepted + 1 - coalesce(outflow.finished, 0) <= tenant.max_queued)
          AND (tenant.rate_per_second IS NULL
               OR greatest(intake.full_at, epoch.at) - epoch.at + 1 / tenant.rate_per_second
                  <= tenant.rate_burst / tenant.rate_per_second + 1e-6)
        RETURNING intake.tenant_id
    ), stored AS (
        INSERT INTO scheduling_task
            (id, tenant_id, name, queue, args, kwargs, priority, state, generation, attempts,
             max_attempts, timeout_seconds, deadline, idempotency_key, fingerprint, created_at,
             trace_context)
        SELECT %(id)s, admitted.tenant_id, %(name)s, %(queue)s, %(args)s::jsonb, %(kwargs)s::jsonb,
               %(priority)s, 'queued', 0, 0, %(max_attempts)s, %(timeout_seconds)s::float8,
               %(deadline)s::timestamptz, %(key)s::text, %(fingerprint)s::text, clock.at,
               %(trace_context)s::text
        FROM admitted, clock
        RETURNING id
    ), scheduled AS (
        INSERT INTO scheduling_schedule (task_id, lane_id, priority, due_at, readiness)
        SELECT stored.id, lane.id, %(priority)s, due.at,
               CASE WHEN due.at <= clock.at THEN {READY} ELSE {NOT_DUE} END
        FROM stored, lane, clock
        CROSS JOIN LATERAL (SELECT coalesce(%(due_at)s::timestamptz, clock.at) AS at) AS due
        RETURNING due_at, readiness
    ), activated AS (
        UPDATE scheduling_lane AS idle
        SET readiness = {READY},
            virtual_time = (SELECT max(sister.virtual_time) FROM scheduling_lane AS sister
                            WHERE sister.tenant_id = lane.tenant_id)
        FROM lane, scheduled
        WHERE idle.id = lane.id AND lane.readiness = {NOT_DUE} AND scheduled.readiness = {READY}
        RETURNING idle.id
    )
    SELECT clock.at,
           CASE WHEN EXISTS (SELECT FROM activated) THEN pg_notify(%(channel)s, %(work)s)
                WHEN scheduled.readiness = {NOT_DUE} AND scheduled.due_at <= clock.at + %(soon)s
                THEN pg_notify(%(channel)s, %(due)s) END
    FROM scheduled, clock
"""  # the lane's readiness is what the lock on it found, not what the statement's snapshot shows
TASKS_WITH_KEYS = """
    SELECT task.tenant_id, task.idempotency_key, task.id, task.fingerprint
    FROM unnest(%s::bigint[], %s::text[]) AS wanted (tenant_id, key)
    JOIN scheduling_task AS task
      ON task.tenant_id = wanted.tenant_id AND task.idempotency_key = wanted.key
"""
INSERT_TASKS = """
    INSERT INTO scheduling_task
        (id, tenant_id, name, queue, args, kwargs, priority, state, generation, attempts, max_attempts,
         timeout_seconds, deadline, idempotency_key, fingerprint, created_at, trace_context)
    SELECT id, tenant_id, name, queue, args, kwargs, priority, 'queued', 0, 0, max_attempts,
           timeout_seconds, deadline, idempotency_key, fingerprint, %s, trace_context
    FROM unnest(%s::uuid[], %s::bigint[], %s::text[], %s::text[], %s::jsonb[], %s::jsonb[],
                %s::smallint[], %s::smallint[], %s::float8[], %s::timestamptz[], %s::text[],
                %s::text[], %s::text[])
        AS new (id, tenant_id, name, queue, args, kwargs, priority, max_attempts, timeout_seconds,
                deadline, idempotency_key, fingerprint, trace_context)
"""
INSERT_SCHEDULES = """
    INSERT INTO scheduling_schedule (task_id, lane_id, priority, due_at, readiness)
    SELECT * FROM unnest(%s::uuid[], %s::bigint[], %s::smallint[], %s::timestamptz[], %s::smallint[])
"""
SHARE_LANES = """
    SELECT lane.tenant_id, lane.queue, lane.id
    FROM unnest(%s::bigint[], %s::text[]) AS wanted (tenant_id, queue)
    JOIN scheduling_lane AS lane
      ON lane.tenant_id = wanted.tenant_id AND lane.queue = wanted.queue
    ORDER BY lane.id
    FOR KEY SHARE OF lane
"""
ADD_LANES = f"""
    INSERT INTO scheduling_lane (tenant_id, queue, virtual_time, served_at, readiness)
    SELECT tenant_id, queue, 0, 0, {NOT_DUE}
    FROM unnest(%s::bigint[], %s::text[]) AS wanted (tenant_id, queue)
    ORDER BY tenant_id, queue
    ON CONFLICT (tenant_id, queue) DO NOTHING
"""
SHARE_LANE_IDS = """
    SELECT id FROM scheduling_lane WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE
"""
FREE_LANES = f"""
    WITH idle AS (
        SELECT id FROM scheduling_lane WHERE id = ANY(%(lanes)s) AND readiness = {NOT_DUE}
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    )
    SELECT id FROM idle
    UNION ALL
    SELECT id FROM scheduling_lane WHERE id = ANY(%(lanes)s) AND readiness <> {NOT_DUE}
"""
ACTIVATE_LANES = f"""
    WITH idle AS (
        SELECT id, tenant_id FROM scheduling_lane WHERE id = ANY(%s) AND readiness = {NOT_DUE}
        ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE scheduling_lane AS lane
    SET readiness = {READY},
        virtual_time = (SELECT max(sister.virtual_time) FROM scheduling_lane AS sister
                        WHERE sister.tenant_id = idle.tenant_id)
    FROM idle WHERE lane.id = idle.id
"""
TAKE_TURN = """
    SELECT turn.pool, turn.virtual_time, clock_timestamp()
    FROM (SELECT pool, virtual_time FROM scheduling_dispatch
          WHERE pool = ANY(%s) ORDER BY pool FOR UPDATE) AS turn
"""  # the subquery has waited before the clock is read
FIRST_TURN = """
    INSERT INTO scheduling_dispatch (pool, virtual_time) VALUES (%s, 0) ON CONFLICT (pool) DO NOTHING
"""
PAUSES = """
    SELECT tenant_id, queue, name FROM scheduling_pause
    WHERE lifted_at IS NULL
      AND (expires_at IS NULL OR expires_at > coalesce(%s::timestamptz, clock_timestamp()))
"""
READY_LANES = f"""
    SELECT lane.id, lane.tenant_id, tenant.slug, lane.queue, lane.virtual_time, lane.served_at,
           tenant.weight,
           CASE WHEN tenant.max_in_flight IS NOT NULL THEN tenant.max_in_flight - (
               SELECT count(*) FROM scheduling_lease AS lease WHERE lease.tenant_id = lane.tenant_id)
           END
    FROM {{lanes}} AS lane
    JOIN tenants_tenant AS tenant ON tenant.id = lane.tenant_id
    WHERE lane.readiness = {READY} {{which}}
    ORDER BY lane.virtual_time, lane.served_at, lane.id
    LIMIT %(limit)s OFFSET %(skip)s
"""
READY_LANES_ANY_QUEUE = READY_LANES.format(
    lanes="scheduling_lane", which="AND lane.queue <> ALL(%(apart)s::text[])"
)
READY_LANES_IN_QUEUES = READY_LANES.format(
    lanes=f"""unnest(%(queues)s::text[]) AS wanted (queue) CROSS JOIN LATERAL (
        SELECT * FROM scheduling_lane AS lane
        WHERE lane.queue = wanted.queue AND lane.readiness = {READY}
        ORDER BY lane.virtual_time, lane.served_at, lane.id LIMIT %(skip)s + %(limit)s
    )""",
    which="",
)  # the first ones of each queue in the order of an index, and of those the first ones
READY_LANES_OF_TENANT = READY_LANES.format(
    lanes="""unnest(%(queues)s::text[]) AS wanted (queue) CROSS JOIN LATERAL (
        SELECT * FROM scheduling_lane AS lane
        WHERE lane.tenant_id = %(tenant)s AND lane.queue = wanted.queue LIMIT 1
    )""",
    which="",
)
HEADS = f"""
    SELECT head.task_id, wanted.lane_id, head.due_at, {{name}}
    FROM unnest(%s::bigint[], %s::bigint[]) WITH ORDINALITY AS wanted (lane_id, count, place)
    CROSS JOIN LATERAL (
        SELECT schedule.task_id, schedule.priority, schedule.due_at
        FROM scheduling_schedule AS schedule
        WHERE schedule.lane_id = wanted.lane_id AND schedule.readiness = {READY}
        ORDER BY schedule.priority DESC, schedule.due_at, schedule.task_id
        LIMIT wanted.count
        FOR UPDATE SKIP LOCKED
    ) AS head
    {{join}}
    ORDER BY wanted.place, head.priority DESC, head.due_at, head.task_id
"""
UNNAMED_HEADS = HEADS.format(name="NULL", join="")
NAMED_HEADS = HEADS.format(
    name="task.name", join="LEFT JOIN scheduling_task AS task ON task.id = head.task_id"
)
SET_READINESS = "UPDATE scheduling_schedule SET readiness = %s WHERE task_id = ANY(%s)"
START = """
    WITH turn AS MATERIALIZED (
        SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS at
    ), chosen AS (
        SELECT id FROM scheduling_task WHERE id = ANY(%(tasks)s::uuid[]) ORDER BY id FOR NO KEY UPDATE
    ), started AS (
        UPDATE scheduling_task AS task SET state = 'running', generation = generation + 1
        FROM chosen, turn WHERE task.id = chosen.id AND (deadline IS NULL OR deadline > turn.at)
        RETURNING task.id, tenant_id, name, args, kwargs, generation, attempts, max_attempts,
                  timeout_seconds, deadline, idempotency_key, trace_context
    ), dropped AS (
        DELETE FROM scheduling_schedule AS schedule USING started WHERE schedule.task_id = started.id
        RETURNING schedule.task_id, schedule.lane_id, schedule.due_at, started.tenant_id,
                  started.generation
    ), leased AS (
        INSERT INTO scheduling_lease
            (task_id, tenant_id, lane_id, generation, due_at, worker, acquired_at, expires_at, seconds)
        SELECT task_id, tenant_id, lane_id, generation, due_at, %(worker)s, turn.at,
               turn.at + %(lease)s, %(seconds)s
        FROM dropped, turn
    )
    SELECT turn.at, id, name, args, kwargs, generation, attempts, max_attempts, timeout_seconds,
           deadline, idempotency_key, trace_context
    FROM turn LEFT JOIN started ON true
"""
RENEW = """
    WITH standing AS (
        SELECT lease.task_id
        FROM unnest(%s::uuid[], %s::int[], %s::uuid[]) AS token (task_id, generation, worker)
        JOIN scheduling_lease AS lease USING (task_id, generation, worker)
        ORDER BY lease.task_id FOR UPDATE OF lease
    )
    UPDATE scheduling_lease AS lease
    SET expires_at = coalesce(%s::timestamptz, clock_timestamp()) + %s, seconds = %s
    FROM standing WHERE lease.task_id = standing.task_id
    RETURNING lease.expires_at, lease.task_id, lease.generation, lease.worker
"""
END_LEASES = """
    WITH standing AS (
        SELECT lease.task_id, token.place
        FROM unnest(%s::uuid[], %s::int[], %s::uuid[], %s::timestamptz[])
            WITH ORDINALITY AS token (task_id, generation, worker, unchanged_since, place)
        JOIN scheduling_lease AS lease USING (task_id, generation, worker)
        WHERE token.unchanged_since IS NULL OR lease.expires_at = token.unchanged_since
        ORDER BY lease.task_id FOR UPDATE OF lease
    )
    DELETE FROM scheduling_lease AS lease
    USING standing WHERE lease.task_id = standing.task_id
    RETURNING standing.place - 1
"""
SUCCEED = """
    WITH clock AS MATERIALIZED (
        SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS at
    ), standing AS (
        SELECT lease.task_id, token.place, token.result
        FROM unnest(%(tasks)s::uuid[], %(generations)s::int[], %(results)s::jsonb[])
            WITH ORDINALITY AS token (task_id, generation, result, place)
        JOIN scheduling_lease AS lease USING (task_id, generation)
        WHERE lease.worker = %(worker)s
        ORDER BY lease.task_id FOR UPDATE OF lease
    ), ended AS (
        DELETE FROM scheduling_lease AS lease USING standing WHERE lease.task_id = standing.task_id
        RETURNING lease.task_id, lease.generation, lease.tenant_id, lease.due_at, lease.acquired_at,
                  standing.place, standing.result
    ), running AS (
        SELECT ended.*, task.attempts + 1 AS number
        FROM ended JOIN scheduling_task AS task ON task.id = ended.task_id
        ORDER BY task.id FOR NO KEY UPDATE OF task
    ), updated AS (
        UPDATE scheduling_task AS task
        SET state = 'succeeded', attempts = running.number, finished_at = clock.at,
            result = running.result
        FROM running, clock WHERE task.id = running.task_id
    ), told AS (
        INSERT INTO scheduling_attempt
            (task_id, generation, number, worker, due_at, started_at, finished_at, outcome)
        SELECT task_id, generation, number, %(worker)s, due_at, acquired_at, clock.at, 'succeeded'
        FROM running, clock
    ), tally AS MATERIALIZED (
        SELECT tenant_id, date_trunc('minute', clock.at, 'UTC') AS minute, count(*) AS succeeded,
               sum(greatest(extract(epoch FROM acquired_at - due_at), 0)) AS wait_seconds,
               sum(greatest(extract(epoch FROM clock.at - acquired_at), 0)) AS run_seconds
        FROM running, clock GROUP BY tenant_id, clock.at
    ), counted AS (
        INSERT INTO scheduling_outflow AS outflow (tenant_id, finished)
        SELECT tenant_id, succeeded FROM tally ORDER BY tenant_id
        ON CONFLICT (tenant_id) DO UPDATE SET finished = outflow.finished + excluded.finished
        RETURNING outflow.tenant_id
    ), minuted AS (
        INSERT INTO scheduling_throughput AS minute
            (tenant_id, minute, succeeded, retried, dead, cancelled, lost, wait_seconds, run_seconds)
        SELECT tenant_id, minute, succeeded, 0, 0, 0, 0, wait_seconds, run_seconds
        FROM tally JOIN counted USING (tenant_id) ORDER BY tenant_id
        ON CONFLICT (tenant_id, minute) DO UPDATE SET
            succeeded = minute.succeeded + excluded.succeeded,
            wait_seconds = minute.wait_seconds + excluded.wait_seconds,
            run_seconds = minute.run_seconds + excluded.run_seconds
    )
    SELECT place - 1 FROM running
"""  # what is counted is joined with what was counted before, so that outflow is locked first, as everywhere
STANDINGS = """
    SELECT id, attempts, max_attempts, priority, deadline, cancel_requested_at IS NOT NULL
    FROM scheduling_task WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE
"""
FINISH = """
    WITH ending AS (
        SELECT * FROM unnest(
            %s::uuid[], %s::int[], %s::int[], %s::uuid[], %s::timestamptz[], %s::timestamptz[],
            %s::text[], %s::jsonb[], %s::text[], %s::int[], %s::boolean[], %s::jsonb[], %s::jsonb[],
            %s::text[])
        AS ending (task_id, generation, number, worker, due_at, started_at,
                   outcome, failure, state, attempts, is_terminal, result, error, dead_reason)
    ), running AS (
        SELECT task.id FROM ending JOIN scheduling_task AS task ON task.id = ending.task_id
        ORDER BY task.id FOR NO KEY UPDATE OF task
    ), updated AS (
        UPDATE scheduling_task AS task
        SET state = ending.state, attempts = ending.attempts,
            finished_at = CASE WHEN ending.is_terminal THEN %s::timestamptz END,
            result = ending.result, error = coalesce(ending.error, task.error),
            dead_reason = ending.dead_reason
        FROM ending JOIN running ON running.id = ending.task_id
        WHERE task.id = running.id
    )
    INSERT INTO scheduling_attempt
        (task_id, generation, number, worker, due_at, started_at, finished_at, outcome, error)
    SELECT task_id, generation, number, worker, due_at, started_at, %s::timestamptz, outcome, failure
    FROM ending
"""
ADD_FINISHED = """
    INSERT INTO scheduling_outflow AS outflow (tenant_id, finished)
    SELECT * FROM unnest(%s::bigint[], %s::bigint[]) AS new (tenant_id, finished) ORDER BY tenant_id
    ON CONFLICT (tenant_id) DO UPDATE SET finished = outflow.finished + excluded.finished
"""
ADD_THROUGHPUT = """
    INSERT INTO scheduling_throughput AS minute
        (tenant_id, minute, succeeded, retried, dead, cancelled, lost, wait_seconds, run_seconds)
    SELECT tenant_id, %s, succeeded, retried, dead, cancelled, lost, wait_seconds, run_seconds
    FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::int[], %s::int[], %s::int[], %s::float8[],
                %s::float8[])
        AS new (tenant_id, succeeded, retried, dead, cancelled, lost, wait_seconds, run_seconds)
    ORDER BY tenant_id
    ON CONFLICT (tenant_id, minute) DO UPDATE SET
        succeeded = minute.succeeded + excluded.succeeded, retried = minute.retried + excluded.retried,
        dead = minute.dead + excluded.dead, cancelled = minute.cancelled + excluded.cancelled,
        lost = minute.lost + excluded.lost,
        wait_seconds = minute.wait_seconds + excluded.wait_seconds,
        run_seconds = minute.run_seconds + excluded.run_seconds
"""
HOLD_LANES = f"""
    WITH free AS (
        SELECT id FROM scheduling_lane WHERE id = ANY(%s)
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE scheduling_lane AS lane SET readiness = {HELD} FROM free WHERE lane.id = free.id
"""
LOCK_EMPTY_LANES = """
    SELECT id FROM scheduling_lane WHERE id = ANY(%s) ORDER BY id FOR UPDATE SKIP LOCKED
"""
SERVE_LANES = f"""
    WITH moved AS (
        UPDATE scheduling_dispatch SET virtual_time = %(reached)s WHERE pool = %(pool)s
    ), free AS (
        SELECT id, tenant_id FROM scheduling_lane
        WHERE tenant_id = ANY(%(tenants)s) AND readiness = {READY}
          AND (%(queues)s::text[] IS NULL OR queue = ANY(%(queues)s))
          AND queue <> ALL(%(apart)s::text[])
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE scheduling_lane AS lane
    SET virtual_time = turn.virtual_time,
        served_at = coalesce(served.at, lane.served_at),
        readiness = CASE WHEN lane.id = ANY(%(empty)s) AND (
            SELECT schedule.task_id FROM scheduling_schedule AS schedule
            WHERE schedule.lane_id = lane.id AND schedule.readiness = {READY}
            ORDER BY schedule.priority DESC, schedule.due_at, schedule.task_id LIMIT 1
        ) IS NULL THEN {NOT_DUE} ELSE lane.readiness END
    FROM free
    JOIN unnest(%(tenants)s::bigint[], %(turns)s::float8[]) AS turn (tenant_id, virtual_time)
      ON turn.tenant_id = free.tenant_id
    LEFT JOIN unnest(%(lanes)s::bigint[], %(served_at)s::float8[]) AS served (id, at)
      ON served.id = free.id
    WHERE lane.id = free.id
    RETURNING lane.id, lane.readiness = {NOT_DUE}
"""  # whether a lane is empty is asked in the order of its index: a plain NOT EXISTS scans the table for it
HELD_LEASES = """
    SELECT task_id, worker, generation, tenant_id, lane_id, due_at, acquired_at, expires_at, seconds
    FROM scheduling_lease
"""
HELD_LEASES_OF_WORKER = f"{HELD_LEASES} WHERE worker = %s"
NEXT_DUE = f"SELECT min(due_at) FROM scheduling_schedule WHERE readiness = {NOT_DUE}"
DUE_SCHEDULES = f"""
    SELECT task_id, lane_id FROM scheduling_schedule
    WHERE readiness = {NOT_DUE} AND due_at <= %s AND lane_id <> ALL(%s::bigint[])
    ORDER BY due_at LIMIT %s
    FOR UPDATE SKIP LOCKED
"""


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

    def now(self) -> datetime:
        return _utc(self._run("SELECT clock_timestamp()").fetchone()[0])

    # Enqueue

    def admit(
        self, tenant_id: int, count: int, now: datetime | None, *, rated: bool
    ) -> datetime | None:
        values = {"tenant": tenant_id, "count": count, "now": now, "rated": rated}
        row = self._run(ADMIT, values).fetchone()
        return _utc(row[0]) if row else None

    def accept_one(self, task_id: UUID, task: NewTask, now: datetime | None) -> datetime | None:
        """One round trip instead of eight. In a transaction of the caller's a failure would end that."""
        if self._connection.in_atomic_block:
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
            "channel": notifications.CHANNEL,
            "work": topics.WORK,
            "due": topics.DUE,
            "soon": topics.SLOWEST_LOOK,
        }
        try:
            row = self._run(ACCEPT_ONE, values).fetchone()
        except IntegrityError:  # somebody stored the key at the same moment
            return None
        return _utc(row[0]) if row else None

    def tasks_with_keys(
        self, keys: Collection[tuple[int, str]]
    ) -> Mapping[tuple[int, str], tuple[UUID, str | None]]:
        rows = self._run(TASKS_WITH_KEYS, _columns(keys, 2))
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
                )
                for task_id, task in rows
            ],
            13,
        )
        self._run(INSERT_TASKS, [now, *columns])

    def insert_schedules(self, rows: Sequence[tuple[UUID, int, int, datetime, Readiness]]) -> None:
        self._run(INSERT_SCHEDULES, _columns([(*row[:4], row[4].value) for row in rows], 5))

    def share_lanes(self, lanes: Collection[tuple[int, str]]) -> Mapping[tuple[int, str], int]:
        wanted = _columns(lanes, 2)
        found = self._share_lanes(wanted)
        if len(found) < len(lanes):
            self._run(ADD_LANES, wanted)
            found = self._share_lanes(wanted)
        return found

    def _share_lanes(self, wanted: list[list[Any]]) -> dict[tuple[int, str], int]:
        rows = self._run(SHARE_LANES, wanted)
        return {(tenant, queue): lane_id for tenant, queue, lane_id in rows}

    def share_lane_ids(self, lane_ids: Collection[int]) -> None:
        self._run(SHARE_LANE_IDS, [list(lane_ids)])

    def free_lanes(self, lane_ids: Collection[int]) -> set[int]:
        return {lane_id for (lane_id,) in self._run(FREE_LANES, {"lanes": list(lane_ids)})}

    def activate_lanes(self, lane_ids: Collection[int]) -> int:
        return int(self._run(ACTIVATE_LANES, [sorted(lane_ids)]).rowcount)

    # Claim

    def take_turn(self, now: datetime | None) -> datetime:
        _, at = self._take_turn(now, Dispatch.EVERY_QUEUE)
        return at

    def begin_claim(self, reach: Reach, limit: int, now: datetime | None, pool: str) -> Turn:
        """In one round trip, but for the first claim of a pool."""
        pools = _pools(pool)
        with self._together():
            turn = self._run(TAKE_TURN, [pools])
            pauses = self._run(PAUSES, [now])
            lanes = self._ready_lanes(reach, 0, limit)
        rows = turn.fetchall()
        if len(rows) < len(pools):
            self._take_turn(now, pool)
            return self.begin_claim(reach, limit, now, pool)
        reached, at = _reached(rows, now, pool)
        return Turn(reached, at, pauses.fetchall(), [LaneShare(*row) for row in lanes])

    def _take_turn(self, now: datetime | None, pool: str) -> tuple[float, datetime]:
        pools = _pools(pool)
        rows = self._run(TAKE_TURN, [pools]).fetchall()
        if len(rows) < len(pools):
            for one in (Dispatch.EVERY_QUEUE, pool):  # only who holds the first adds another
                self._run(FIRST_TURN, [one])
                self._run(TAKE_TURN, [[one]])
            return self._take_turn(now, pool)
        return _reached(rows, now, pool)

    def ready_lanes(self, reach: Reach, skip: int, limit: int) -> list[LaneShare]:
        return [LaneShare(*row) for row in self._ready_lanes(reach, skip, limit)]

    def _ready_lanes(self, reach: Reach, skip: int, limit: int) -> Any:
        values: dict[str, Any] = {"skip": skip, "limit": limit}
        if reach.queues is None:
            return self._run(READY_LANES_ANY_QUEUE, values | {"apart": list(reach.apart)})
        values |= {"queues": list(reach.queues)}
        if reach.tenant_id is None:
            return self._run(READY_LANES_IN_QUEUES, values)
        return self._run(READY_LANES_OF_TENANT, values | {"tenant": reach.tenant_id})

    def heads(self, wanted: Mapping[int, int], *, named: bool) -> list[Head]:
        rows = self._run(NAMED_HEADS if named else UNNAMED_HEADS, _columns(wanted.items(), 2))
        return [Head(task, lane_id, _utc(due_at), name) for task, lane_id, due_at, name in rows]

    def set_readiness(self, task_ids: Collection[UUID], readiness: Readiness) -> None:
        self._run(SET_READINESS, [readiness.value, list(task_ids)])

    def start(
        self,
        chosen: Sequence[tuple[Head, LaneShare]],
        worker: UUID,
        lease: timedelta,
        now: datetime | None,
        serving: Serving,
    ) -> tuple[datetime, list[Started], bool]:
        """An empty lane is locked before the statement that looks whether it still is.

        A lane that somebody else is activating, found ready already, keeps its virtual time: a claim
        does not wait for what may be a long transaction.
        """
        values = {
            "now": now,
            "tasks": _uuids(head.task_id for head, _ in chosen),
            "worker": worker,
            "lease": lease,
            "seconds": lease.total_seconds(),
        }
        with self._together():
            rows = self._run(START, values)
            empty = self._run(LOCK_EMPTY_LANES, [sorted(serving.empty)]) if serving.empty else ()
            lanes = () if serving.empty else self._serve_lanes(serving, [])
        if serving.empty:
            lanes = self._serve_lanes(serving, [lane_id for (lane_id,) in empty])
        retired = {lane_id for lane_id, is_retired in lanes if is_retired}
        (at, *first), *others = rows.fetchall()
        started = [first, *(row for _, *row in others)] if first[0] else []
        return _utc(at), [Started(*row) for row in started], retired.issuperset(serving.empty)

    def _serve_lanes(self, serving: Serving, empty: list[int]) -> Any:
        tenants, turns = _columns(serving.turns.items(), 2)
        lanes, served_at = _columns(serving.served_at.items(), 2)
        values = {
            "tenants": tenants,
            "turns": turns,
            "lanes": lanes,
            "served_at": served_at,
            "queues": None if serving.reach.queues is None else list(serving.reach.queues),
            "apart": list(serving.reach.apart),
            "empty": empty,
            "reached": serving.reached,
            "pool": serving.pool,
        }
        return self._run(SERVE_LANES, values)

    def hold_lanes(self, lane_ids: Collection[int]) -> int:
        return int(self._run(HOLD_LANES, [sorted(lane_ids)]).rowcount)

    # Renew, settle, reap

    def renew(
        self, tokens: Sequence[Token], now: datetime | None, seconds: float
    ) -> tuple[datetime, set[Token]]:
        length = timedelta(seconds=seconds)
        rows = list(self._run(RENEW, [*_columns(tokens, 3), now, length, seconds]))
        expiries = [_utc(expires_at) for expires_at, *_ in rows]
        return (
            min(expiries, default=(now or self.now()) + length),
            {(task, generation, worker) for _, task, generation, worker in rows},
        )

    def end_leases(
        self, tokens: Sequence[Token], unchanged_since: Sequence[datetime] | None = None
    ) -> list[int]:
        marks = list(unchanged_since) if unchanged_since is not None else [None] * len(tokens)
        return [place for (place,) in self._run(END_LEASES, [*_columns(tokens, 3), marks])]

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
        return [place for (place,) in self._run(SUCCEED, values)]

    def held_leases(self, worker: UUID | None) -> list[HeldLease]:
        rows = (
            self._run(HELD_LEASES) if worker is None else self._run(HELD_LEASES_OF_WORKER, [worker])
        )
        return [HeldLease(*row) for row in rows]

    def standings(self, task_ids: Collection[UUID]) -> Mapping[UUID, Standing]:
        return {task: Standing(*row) for task, *row in self._run(STANDINGS, [list(task_ids)])}

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
        self._run(FINISH, [*columns, now, now])

    def add_finished(self, counts: Mapping[int, int]) -> None:
        self._run(ADD_FINISHED, _columns(counts.items(), 2))

    def add_throughput(self, tallies: Mapping[int, Tally], minute: datetime) -> None:
        rows = [
            (
                tenant_id,
                tally.succeeded,
                tally.retried,
                tally.dead,
                tally.cancelled,
                tally.lost,
                tally.wait_seconds,
                tally.run_seconds,
            )
            for tenant_id, tally in tallies.items()
        ]
        self._run(ADD_THROUGHPUT, [minute, *_columns(rows, 8)])

    # Promote

    def next_due(self) -> datetime | None:
        due_at = self._run(NEXT_DUE).fetchone()[0]
        return _utc(due_at) if due_at else None

    def due_schedules(
        self, now: datetime, limit: int, *, apart_from: Collection[int] = ()
    ) -> list[tuple[UUID, int]]:
        return list(self._run(DUE_SCHEDULES, [now, list(apart_from), limit]))

    # Wake

    def wake_after_commit(self, topic: str) -> None:
        """NOTIFY is part of the transaction, and sent by its commit."""
        self._run("SELECT pg_notify(%s, %s)", [notifications.CHANNEL, topic])

    def listen(self) -> Listener:
        return notifications.NotificationListener()

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
