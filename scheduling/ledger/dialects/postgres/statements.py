"""The hot statements on PostgreSQL.

READ COMMITTED throughout: each statement sees what was committed when it began, so what must hold until
commit is locked first and read after. Claims take turns on the row of Dispatch. A lane is retired under
`FOR UPDATE`, which waits for nobody (SKIP LOCKED) and which nobody can get while an enqueue, that keeps
`FOR KEY SHARE` on it until it commits, may be about to give the lane work.
An UPDATE or DELETE takes its rows in whatever order it is planned in, so one that may meet another on
several rows locks them first, in the order of their keys.
Many rows go in as arrays (`unnest`): one round trip, one plan.
How many lanes and heads are looked at is written into the text: of a limit that is a parameter a generic plan
expects a tenth of all rows, and would rather read and sort all lanes.
"""

from scheduling.ledger.dialects.values import FIGURES
from scheduling.spread import UP_TO
from scheduling.states import Readiness

COLUMNS = ", ".join(FIGURES)
ADDED_UP = ", ".join(f"{name} = known.{name} + excluded.{name}" for name in FIGURES)
UP_TO_EACH_BOUND = ", ".join(
    f"count(*) FILTER (WHERE {figure} <= {seconds}) AS {figure}_{bound}"
    for figure in ("waited", "ran")
    for bound, seconds in UP_TO.items()
)
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
USAGE = """
    SELECT extract(epoch FROM coalesce(%(now)s::timestamptz, clock_timestamp()))::float8,
           tenant.max_queued, tenant.rate_per_second, tenant.rate_burst,
           intake.accepted, coalesce(outflow.finished, 0), coalesce(intake.full_at, 0)
    FROM tenants_tenant AS tenant
    LEFT JOIN scheduling_intake AS intake ON intake.tenant_id = tenant.id
    LEFT JOIN scheduling_outflow AS outflow ON outflow.tenant_id = tenant.id
    WHERE tenant.id = %(tenant)s
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
             trace_context, label)
        SELECT %(id)s, admitted.tenant_id, %(name)s, %(queue)s, %(args)s::jsonb, %(kwargs)s::jsonb,
               %(priority)s, 'queued', 0, 0, %(max_attempts)s, %(timeout_seconds)s::float8,
               %(deadline)s::timestamptz, %(key)s::text, %(fingerprint)s::text, clock.at,
               %(trace_context)s::text, %(label)s::text
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
         timeout_seconds, deadline, idempotency_key, fingerprint, created_at, trace_context,
         label)
    SELECT id, tenant_id, name, queue, args, kwargs, priority, 'queued', 0, 0, max_attempts,
           timeout_seconds, deadline, idempotency_key, fingerprint, %s, trace_context, label
    FROM unnest(%s::uuid[], %s::bigint[], %s::text[], %s::text[], %s::jsonb[], %s::jsonb[],
                %s::smallint[], %s::smallint[], %s::float8[], %s::timestamptz[], %s::text[],
                %s::text[], %s::text[], %s::text[])
        AS new (id, tenant_id, name, queue, args, kwargs, priority, max_attempts, timeout_seconds,
                deadline, idempotency_key, fingerprint, trace_context, label)
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
    SELECT lane.*, head.task_id, head.due_at
    FROM (
        SELECT lane.id, lane.tenant_id, tenant.slug, lane.queue, lane.virtual_time, lane.served_at,
               tenant.weight,
               CASE WHEN tenant.max_in_flight IS NOT NULL THEN tenant.max_in_flight - (
                   SELECT count(*) FROM scheduling_lease AS lease
                   WHERE lease.tenant_id = lane.tenant_id)
               END
        FROM {{lanes}} AS lane
        JOIN tenants_tenant AS tenant ON tenant.id = lane.tenant_id
        WHERE lane.readiness = {READY} {{which}}
        ORDER BY lane.virtual_time, lane.served_at, lane.id
        LIMIT %(limit)s OFFSET %(skip)s
    ) AS lane
    LEFT JOIN LATERAL (
        SELECT schedule.task_id, schedule.priority, schedule.due_at
        FROM scheduling_schedule AS schedule
        WHERE schedule.lane_id = lane.id AND schedule.readiness = {READY}
        ORDER BY schedule.priority DESC, schedule.due_at, schedule.task_id
        LIMIT %(heads)s
        FOR UPDATE SKIP LOCKED
    ) AS head ON true
    ORDER BY lane.virtual_time, lane.served_at, lane.id,
             head.priority DESC, head.due_at, head.task_id
"""
READY_LANES_ANY_QUEUE = READY_LANES.format(
    lanes="scheduling_lane", which="AND NOT coalesce(lane.queue = ANY(%(apart)s::text[]), false)"
)  # coalesce for the planner: of `<> ALL` of an array it has not seen it expects a single lane, and sorts
READY_LANES_IN_QUEUES = READY_LANES.format(
    lanes=f"""unnest(%(queues)s::text[]) AS wanted (queue) CROSS JOIN LATERAL (
        SELECT * FROM scheduling_lane AS lane
        WHERE lane.queue = wanted.queue AND lane.readiness = {READY}
        ORDER BY lane.virtual_time, lane.served_at, lane.id LIMIT %(first)s
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
SUCCEED = f"""
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
    ), timed AS (
        SELECT tenant_id, date_trunc('minute', clock.at, 'UTC') AS minute,
               greatest(date_part('epoch', acquired_at - due_at), 0) AS waited,
               greatest(date_part('epoch', clock.at - acquired_at), 0) AS ran
        FROM running, clock
    ), tally AS MATERIALIZED (
        SELECT tenant_id, minute, count(*) AS succeeded, 0 AS retried, 0 AS dead, 0 AS cancelled,
               0 AS lost, count(*) AS ended, sum(waited) AS wait_seconds, sum(ran) AS run_seconds,
               {UP_TO_EACH_BOUND}
        FROM timed GROUP BY tenant_id, minute
    ), counted AS (
        INSERT INTO scheduling_outflow AS outflow (tenant_id, finished)
        SELECT tenant_id, succeeded FROM tally ORDER BY tenant_id
        ON CONFLICT (tenant_id) DO UPDATE SET finished = outflow.finished + excluded.finished
        RETURNING outflow.tenant_id
    ), minuted AS (
        INSERT INTO scheduling_throughput AS known (tenant_id, minute, {COLUMNS})
        SELECT tenant_id, minute, {COLUMNS}
        FROM tally JOIN counted USING (tenant_id) ORDER BY tenant_id
        ON CONFLICT (tenant_id, minute) DO UPDATE SET {ADDED_UP}
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
ADD_FIGURES = f"""
    INSERT INTO scheduling_{{table}} AS known ({{key}}, {COLUMNS})
    SELECT {{key}}, {COLUMNS}
    FROM json_populate_recordset(NULL::scheduling_{{table}}, %s) ORDER BY {{key}}
    ON CONFLICT ({{key}}) DO UPDATE SET {ADDED_UP}
"""
ADD_THROUGHPUT = ADD_FIGURES.format(table="throughput", key="tenant_id, minute")
ADD_HOURS = ADD_FIGURES.format(table="hour", key="of_tenant, hour")
ADD_TOTALS = ADD_FIGURES.format(table="total", key="tenant_id")
HOLD_LANES = f"""
    WITH free AS (
        SELECT id FROM scheduling_lane WHERE id = ANY(%s)
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE scheduling_lane AS lane SET readiness = {HELD} FROM free WHERE lane.id = free.id
"""
LOCK_EMPTY_LANES = """
    SELECT set_config('rentroll.locked', array_agg(lane.id)::text, true)
    FROM (SELECT id FROM scheduling_lane WHERE id = ANY(%s) ORDER BY id FOR UPDATE SKIP LOCKED) AS lane
"""  # those that were free, in a setting of the transaction: so the next statement needs no answer to this one
SERVE_LANES = f"""
    WITH moved AS (
        UPDATE scheduling_dispatch SET virtual_time = %(reached)s WHERE pool = %(pool)s
    ), locked AS MATERIALIZED (
        SELECT unnest(nullif(current_setting('rentroll.locked', true), '')::bigint[]) AS id
        WHERE %(retires)s
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
        readiness = CASE WHEN lane.id IN (SELECT id FROM locked) AND (
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
