"""Fills the scene's ledger with a long history, in SQL, for pages that have to stay quick beside it.

Every second task is of one tenant; the other half is spread over all of them. A task that is over has five
attempts behind it, or ten if it is dead; every tenant was busy in ten of the last minutes.
"""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.db import transaction

from benchmarks.acts.loading import chunks, complete, prepare, run, stored_uuid
from scheduling import clock, ledger
from scheduling.audit import Via
from scheduling.ledger.minutes import minute_of
from scheduling.models import Lane, OperatorAction, Throughput, Tick, WorkerProcess
from scheduling.policies import TickOutcome
from scheduling.states import DeadReason, Outcome, Readiness, TaskState
from tenants.models import ApiToken, Tenant

OWNER = "CASE WHEN n %% 2 = 0 THEN 0 ELSE n %% %(tenants)s END"
NAME = "CASE n %% 5 WHEN 0 THEN 'invoices.send' WHEN 1 THEN 'mail.deliver' ELSE 'reports.build' END"
TASKS = """
    {series}
    INSERT INTO scheduling_task
        (id, tenant_id, name, queue, args, kwargs, priority, state, generation, attempts, max_attempts,
         created_at, finished_at, result, dead_reason, error)
    SELECT {id}, %(tenant)s + {owner}, {name}, 'default', '[]', '{{"number": 7}}', 0,
           %(state)s, %(attempts)s, %(attempts)s, 12, {earlier}, {finished_at}, 'null',
           %(dead_reason)s, CAST({error} AS {json})
    FROM series
"""
SCHEDULES = """
    {series}
    INSERT INTO scheduling_schedule (task_id, lane_id, priority, due_at, readiness)
    SELECT {id}, %(lane)s + {owner}, 0, {due_at}, %(readiness)s FROM series
"""
ATTEMPTS = """
    {series}
    INSERT INTO scheduling_attempt
        (task_id, generation, number, worker, due_at, started_at, finished_at, outcome)
    SELECT {id}, %(generation)s, %(generation)s, %(worker)s, {earlier}, {earlier}, {earlier}, %(outcome)s
    FROM series
"""
ERROR = """('{"class": "' || CASE n %% 3 WHEN 0 THEN 'TimeoutError' ELSE 'ConnectionError' END
            || '", "message": "upstream ' || n %% 7 || ' did not answer", "traceback": "…"}')"""
BUSY_MINUTES = 10
WORKERS = 100
ACTIONS = 20_000


def build(tenants: int, succeeded: int, dead: int, ready: int, future: int) -> None:
    """All of it."""
    prepare(tenants)
    lanes = Lane.objects.order_by("pk")
    first = lanes.first()
    assert first is not None
    owners = {"tenant": first.tenant_id, "lane": first.pk, "tenants": tenants}
    _over(
        0, succeeded, {**owners, "state": TaskState.SUCCEEDED, "attempts": 5, "dead_reason": None}
    )
    reason = DeadReason.ATTEMPTS_EXHAUSTED.value
    _over(
        succeeded, dead, {**owners, "state": TaskState.DEAD, "attempts": 10, "dead_reason": reason}
    )
    _queued(succeeded + dead, ready, owners, Readiness.READY, "just_now")
    _queued(succeeded + dead + ready, future, owners, Readiness.NOT_DUE, "later")
    lanes.update(readiness=Readiness.READY)
    _minutes()
    _recurring()
    _surroundings()
    complete()


def _over(first: int, count: int, values: dict[str, Any]) -> None:
    """Tasks that ended, each with its attempts, of which the last one says how."""
    is_dead = values["state"] is TaskState.DEAD
    for bounds in chunks(first, count):
        with transaction.atomic():
            given = {**bounds, **values, "state": values["state"].value}
            run(
                TASKS,
                given,
                finished_at="earlier",
                owner=OWNER,
                name=NAME,
                error=ERROR if is_dead else "NULL",
            )
            for generation in range(1, values["attempts"] + 1):
                succeeds = not is_dead and generation == values["attempts"]
                outcome = Outcome.SUCCEEDED if succeeds else Outcome.FAILED
                told = {"generation": generation, "worker": stored_uuid(), "outcome": outcome.value}
                run(ATTEMPTS, {**bounds, **told})


def _queued(
    first: int, count: int, owners: dict[str, int], readiness: Readiness, due_at: str
) -> None:
    queued = {**owners, "state": TaskState.QUEUED.value, "attempts": 0, "dead_reason": None}
    for bounds in chunks(first, count):
        with transaction.atomic():
            run(TASKS, {**bounds, **queued}, owner=OWNER, name=NAME, error="NULL")
            run(
                SCHEDULES,
                {**bounds, **owners, "readiness": readiness.value},
                owner=OWNER,
                due_at=due_at,
            )


def _minutes() -> None:
    """Tenants take turns: in each minute every tenth or so did something."""
    this_minute = minute_of(clock.now())
    done = {
        "succeeded": 40,
        "retried": 3,
        "dead": 1,
        "ended": 44,
        "wait_seconds": 12.5,
        "run_seconds": 80.0,
    }
    Throughput.objects.bulk_create(
        (
            Throughput(
                tenant_id=pk, minute=this_minute - timedelta(minutes=pk % 12 + 10 * turn), **done
            )
            for pk in Tenant.objects.values_list("pk", flat=True)
            for turn in range(BUSY_MINUTES)
        ),
        batch_size=500,
    )


def _recurring() -> None:
    """Every tenth tenant has a recurring task with a long past."""
    now = clock.now()
    rows = [
        ledger.create_recurring(
            ledger.NewRecurring(
                tenant_id=pk, name="nightly", task_name="reports.build", cron="0 3 * * *"
            ),
            now=now,
        )
        for pk in Tenant.objects.order_by("pk").values_list("pk", flat=True)[::10][:1000]
    ]
    Tick.objects.bulk_create(
        (
            Tick(
                recurring=row,
                at=now - timedelta(minutes=minute + 1),
                outcome=TickOutcome.COALESCED,
                decided_at=now,
            )
            for row in rows[-60:]
            for minute in range(1000)
        ),
        batch_size=500,
    )


def _surroundings() -> None:
    """Workers with tasks in their hands, pauses, tokens, and what operators did."""
    now = clock.now()
    for number in range(WORKERS):
        worker = WorkerProcess.objects.create(
            id=uuid4(), host=f"node-{number}", pid=4711, slots=8, started_at=now, seen_at=now
        )
        ledger.claim(worker.pk, limit=5, now=now)
    for tenant in Tenant.objects.order_by("pk")[10:30]:
        ledger.pause(tenant=tenant, reason="They asked for it.", by="ana", now=now)
    ApiToken.objects.bulk_create(
        ApiToken(tenant=tenant, name="main", prefix=f"{tenant.pk:012}", digest=f"{tenant.pk:064}")
        for tenant in Tenant.objects.all()
    )
    told = {"via": Via.CONSOLE, "by": "ana", "verb": "cancel", "what": "a task", "done": 1}
    OperatorAction.objects.bulk_create(
        OperatorAction(at=now - timedelta(minutes=number), **told) for number in range(ACTIONS)
    )
