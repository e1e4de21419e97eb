"""Fills the scene's ledger with millions of rows, in SQL: through the front door it would take an hour.

What is left behind is what the verbs would have left, as `checkledger` confirms where it can count that far. Rows are numbered through, over all kinds; number n belongs to tenant n modulo tenants.
"""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from django.core.management import call_command
from django.db import connection, transaction

from benchmarks.peers.ours import UNREACHED, Sender, create_tenant, slug
from scheduling import clock, ledger
from scheduling.models import Lane
from scheduling.states import Outcome, Readiness, TaskState
from tenants.models import Tenant

CHUNK = 100_000
"""Rows in one transaction: enough to be fast, and a write-ahead log of some tens of megabytes."""
BATCH = 500

FRAGMENTS = {
    "sqlite": {
        "series": """WITH RECURSIVE series(n) AS (
                         SELECT %(first)s UNION ALL SELECT n + 1 FROM series WHERE n < %(last)s)""",
        "id": "printf('%%012x70008000%%012x', %(millisecond)s + n / 1000, n)",
        "later": "datetime(%(now)s, '+' || (86400 + n %% 86400) || ' seconds')",
        "earlier": "datetime(%(now)s, '-' || (86400 - n / 1000) || ' seconds')",
        "json": "text",
        "just_now": "datetime(%(now)s, '-' || (n %% 50) || ' seconds')",
    },
    "postgresql": {
        "series": "WITH series AS (SELECT n FROM generate_series(%(first)s, %(last)s) AS n)",
        "id": """(lpad(to_hex(%(millisecond)s + n / 1000), 12, '0') || '70008000'
                  || lpad(to_hex(n), 12, '0'))::uuid""",
        "later": "%(now)s::timestamptz + (86400 + n %% 86400) * interval '1 second'",
        "earlier": "%(now)s::timestamptz - (86400 - n / 1000) * interval '1 second'",
        "json": "jsonb",
        "just_now": "%(now)s::timestamptz - (n %% 50) * interval '1 second'",
    },
}
TASKS = """
    {series}
    INSERT INTO scheduling_task
        (id, tenant_id, name, queue, args, kwargs, priority, state, generation, attempts, max_attempts,
         created_at, finished_at, result)
    SELECT {id}, %(tenant)s + n %% %(tenants)s, 'benchmarks.tasks.noop', 'default', '[0,0]', '{{}}', 0,
           %(state)s, %(generation)s, %(generation)s, 3, {earlier}, {finished_at}, {result}
    FROM series
"""
SCHEDULES = """
    {series}
    INSERT INTO scheduling_schedule (task_id, lane_id, priority, due_at, readiness)
    SELECT {id}, %(lane)s + n %% %(tenants)s, 0, {due_at}, %(readiness)s FROM series
"""
ATTEMPTS = """
    {series}
    INSERT INTO scheduling_attempt
        (task_id, generation, number, worker, due_at, started_at, finished_at, outcome)
    SELECT {id}, 1, 1, %(worker)s, {earlier}, {earlier}, {earlier}, %(outcome)s FROM series
"""
INTAKES = """
    INSERT INTO scheduling_intake (tenant_id, accepted, full_at)
    SELECT tenant_id, count(*), 0 FROM scheduling_task GROUP BY tenant_id
"""
OUTFLOWS = """
    INSERT INTO scheduling_outflow (tenant_id, finished)
    SELECT tenant_id, count(*) FROM scheduling_task
    WHERE finished_at IS NOT NULL GROUP BY tenant_id
"""


def prepare(tenants: int) -> None:
    """Tables, and tenants with a lane each. The lanes have ready work as soon as tasks are loaded."""
    call_command("migrate", verbosity=0)
    limits = {"max_queued": UNREACHED, "rate_per_second": UNREACHED, "rate_burst": UNREACHED}
    made = Tenant.objects.bulk_create(
        [Tenant(slug=slug(number), **limits) for number in range(tenants)]
    )
    Lane.objects.bulk_create([Lane(tenant=tenant, queue="default") for tenant in made])


def waiting(first: int, count: int) -> None:
    """Ready tasks, spread over all tenants."""
    owners = _everybody()
    _load_queued(first, count, owners, Readiness.READY, due_at="earlier")
    used = Lane.objects.order_by("pk").values("pk")[:count]
    Lane.objects.filter(pk__in=used).update(readiness=Readiness.READY)


def more(count: int) -> None:
    """Ready tasks of the first tenant, as many of which may run at once as of many tenants together.

    They come through the front door, which counts them.
    """
    Tenant.objects.filter(slug=slug(0)).update(max_in_flight=None)
    sender = Sender()
    for start in range(0, count, BATCH):
        sender.enqueue_many(range(start, min(start + BATCH, count)))


def future(first: int, count: int) -> None:
    """Tasks that are due tomorrow, spread over all tenants."""
    _load_queued(first, count, _everybody(), Readiness.NOT_DUE, due_at="later")


def paused(first: int, count: int) -> None:
    """Ready tasks of one more tenant, which is paused."""
    tenant = create_tenant("paused")
    lane = Lane.objects.create(tenant=tenant, queue="default", readiness=Readiness.READY)
    owners = {"tenant": tenant.pk, "lane": lane.pk, "tenants": 1}
    _load_queued(first, count, owners, Readiness.READY, due_at="earlier")
    ledger.pause(tenant=tenant, by="benchmarks")


def finished(first: int, count: int) -> None:
    """Tasks that succeeded, with their history."""
    succeeded = {"state": TaskState.SUCCEEDED.value, "generation": 1, **_everybody()}
    for bounds in chunks(first, count):
        with transaction.atomic():
            run(TASKS, {**bounds, **succeeded}, finished_at="earlier", result="'null'")
            run(ATTEMPTS, {**bounds, "worker": stored_uuid(), "outcome": Outcome.SUCCEEDED.value})


def complete() -> None:
    """Counters and the planner's statistics; what was loaded is on disk, and nobody is busy bringing it there."""
    with connection.cursor() as cursor:
        cursor.execute(INTAKES)
        cursor.execute(OUTFLOWS)
        if connection.vendor == "postgresql":
            cursor.execute("VACUUM ANALYZE")
            cursor.execute("CHECKPOINT")
        else:
            cursor.execute("ANALYZE")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _load_queued(
    first: int, count: int, owners: dict[str, int], readiness: Readiness, *, due_at: str
) -> None:
    queued = {"state": TaskState.QUEUED.value, "generation": 0, **owners}
    for bounds in chunks(first, count):
        with transaction.atomic():
            run(TASKS, {**bounds, **queued})
            run(SCHEDULES, {**bounds, **owners, "readiness": readiness.value}, due_at=due_at)


def _everybody() -> dict[str, int]:
    """The first tenant and lane, and how many there are; both are numbered without gaps."""
    lanes = Lane.objects.exclude(tenant__slug="paused").order_by("pk")
    first = lanes.first()
    assert first is not None
    return {"tenant": first.tenant_id, "lane": first.pk, "tenants": lanes.count()}


def chunks(first: int, count: int) -> Iterator[dict[str, Any]]:
    now = clock.now()
    for start in range(first, first + count, CHUNK):
        yield {
            "first": start,
            "last": min(start + CHUNK, first + count) - 1,
            "now": now,
            "millisecond": int(now.timestamp() * 1000) - 86_400_000,
        }


def run(statement: str, values: dict[str, Any], **columns: str) -> None:
    """`columns` name the fragments that stand for them; a column without one is null."""
    fragments = FRAGMENTS[connection.vendor]
    chosen = {name: fragments.get(choice, choice) for name, choice in columns.items()}
    absent = {"finished_at": "NULL", "result": "NULL", **chosen}
    with connection.cursor() as cursor:
        cursor.execute(statement.format(**fragments, **absent), values)


def stored_uuid() -> Any:
    """As the database keeps it."""
    made = uuid4()
    return made if connection.vendor == "postgresql" else made.hex
