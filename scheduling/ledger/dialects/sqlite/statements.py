"""The hot statements on SQLite.

`BEGIN IMMEDIATE` excludes every other writer, so nothing here locks rows, and what was read in the
transaction still holds when it writes. Many rows go in as one JSON array (`json_each`), because a
statement costs more than a row. UUIDs are stored as Django stores them, 32 hex digits; instants as text.
"""

from scheduling.ledger.dialects.values import FIGURES
from scheduling.states import Readiness

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
USAGE = """
    SELECT :now,
           tenant.max_queued, tenant.rate_per_second, tenant.rate_burst,
           intake.accepted, coalesce(outflow.finished, 0), coalesce(intake.full_at, 0)
    FROM tenants_tenant AS tenant
    LEFT JOIN scheduling_intake AS intake ON intake.tenant_id = tenant.id
    LEFT JOIN scheduling_outflow AS outflow ON outflow.tenant_id = tenant.id
    WHERE tenant.id = :tenant
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
         timeout_seconds, deadline, idempotency_key, fingerprint, created_at, trace_context,
         label)
    VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', 0, 0, ?, ?, ?, ?, ?, ?, ?, ?)
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
ADD_FIGURES = f"""
    INSERT INTO scheduling_{{table}} ({{key}}, {", ".join(FIGURES)})
    VALUES ({{places}}, {", ".join("?" for _ in FIGURES)})
    ON CONFLICT ({{key}}) DO UPDATE SET
        {", ".join(f"{name} = {name} + excluded.{name}" for name in FIGURES)}
"""
ADD_THROUGHPUT = ADD_FIGURES.format(table="throughput", key="tenant_id, minute", places="?, ?")
ADD_HOURS = ADD_FIGURES.format(table="hour", key="of_tenant, hour", places="?, ?")
ADD_TOTALS = ADD_FIGURES.format(table="total", key="tenant_id", places="?")
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
