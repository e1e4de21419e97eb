"""A ledger with thousands of rows, every verb done once on it, and the plans of the statements they sent."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import connection, transaction

from scheduling import ledger
from scheduling.ledger import Fail, Failure, Snooze
from scheduling.ledger.dialects import dialect
from scheduling.models import Lane, Task
from tenants.models import Tenant
from tests.races.kit import put, say, take

TENANTS, PER_TENANT, SMALL, IDLE = 20, 400, 400, 3000
UNLUCKY = Failure("ValueError", "no luck")


@dataclass
class Recorder:
    """What was sent to the database, and with which values: each statement as it was sent first."""

    dialects: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """By what the statement is without its limits."""
    orm: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def recording(self) -> Iterator[None]:
        kind = type(dialect())
        originals = {
            name: getattr(kind, name) for name in ("_run", "_run_many") if hasattr(kind, name)
        }
        for name, run in originals.items():
            setattr(kind, name, self._wrap(run, many=name == "_run_many"))
        try:
            with connection.execute_wrapper(self._note_orm):
                yield
        finally:
            for name, run in originals.items():
                setattr(kind, name, run)

    def _wrap(self, run: Callable[..., Any], *, many: bool) -> Callable[..., Any]:
        def note_and_run(db: Any, statement: str, values: Any = ()) -> Any:
            if values or not many:
                sent = statement, values[0] if many else values
                self.dialects.setdefault(without_limits(statement), sent)
            return run(db, statement, values)

        return note_and_run

    def _note_orm(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        self.orm.setdefault(sql, params)
        return execute(sql, params, many, context)


def without_limits(statement: str) -> str:
    """The same for a constant of the dialect and for what is sent of it, with numbers."""
    return re.sub(r"(LIMIT|OFFSET) (?:%\(\w+\)s|\d+)", r"\1 n", statement)


def record() -> Recorder:
    """Fill an empty ledger, and do every verb on it."""
    tenants = fill()
    recorder = Recorder()
    with recorder.recording():
        do_every_verb(tenants[0])
    return recorder


def fill() -> list[Tenant]:
    """Most tasks have ended, some are running, the others wait, a few for later; most tenants are idle."""
    tenants = make_tenants("busy", TENANTS)
    for tenant in tenants:
        put(tenant, PER_TENANT)
    say(take(TENANTS * PER_TENANT * 2 // 3))
    take(TENANTS * PER_TENANT // 20)
    later = ledger.promote().now + timedelta(days=1)
    for tenant in tenants:
        put(tenant, PER_TENANT // 8, due_at=later)
    for tenant in make_tenants("small", SMALL):
        put(tenant, queue="small")
    idle = make_tenants("idle", IDLE)
    Lane.objects.bulk_create(Lane(tenant=tenant, queue="default") for tenant in idle)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return tenants


def make_tenants(word: str, count: int) -> list[Tenant]:
    no_limits = {"max_queued": None, "max_in_flight": None, "rate_per_second": None}
    return Tenant.objects.bulk_create(Tenant(slug=f"{word}-{n}", **no_limits) for n in range(count))


def do_every_verb(tenant: Tenant) -> None:
    """In every way that sends another statement."""
    soon = ledger.promote().now + timedelta(seconds=1)
    put(tenant, 3, idempotency_key="key", fingerprint="same", queue="new")
    put(tenant, due_at=soon, idempotency_key="one", fingerprint="same")
    ledger.promote(now=soon)
    ledger.held_leases()
    say(take(8))
    take(1, queues=["default", "new"], tenant=tenant)
    claims = take(5, queues=["default", "new"])
    ledger.renew(claims)
    say(claims[:2], Snooze(timedelta(seconds=1)))
    say(claims[2:4], Fail(UNLUCKY, None))
    say(claims[:4])
    ledger.redrive([claims[2].task_id])
    ledger.discard([claims[3].task_id])
    ledger.reap(ledger.held_leases(claims[4].worker))
    ledger.reap(ledger.held_leases()[:1])
    ledger.cancel([*put(tenant, 2), *(one.task_id for one in take(2))])
    ledger.reschedule(put(tenant, 2), due_at=soon + timedelta(days=1), priority=1)
    for scope in ({"name": "demo.held"}, {"tenant": tenant}, {"queue": "new"}):
        ledger.pause(by="operator", **scope)
        put(tenant, queue="new", name="demo.held")
        take(5, queues=["new"])
        ledger.resume(by="operator", **scope)
    drain(tenant)
    ledger.prune_throughput(before=soon + timedelta(days=1))
    ledger.prune(tenant, keep=timedelta(0), now=soon + timedelta(days=400))
    explain_two(tenant)


def drain(tenant: Tenant) -> None:
    """Empty a lane of its own, so that it is retired."""
    put(tenant, queue="drained")
    say(take(5, queues=["drained"]))


def explain_two(tenant: Tenant) -> None:
    """After the claims, whose statements it sends for more lanes than they look at together."""
    for task_id in put(tenant, 2):
        read = Task.objects.select_related("tenant", "schedule", "lease")
        assert ledger.explain(read.get(pk=task_id)).why is ledger.Why.BEHIND_OTHERS


def explain(statement: str, values: Any) -> str:
    """The plan as text: SQLite's lines, or PostgreSQL's nodes with what they read and by which index."""
    if connection.vendor == "sqlite":
        rows = connection.connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
        return "\n".join(row[3] for row in rows)
    with transaction.atomic():
        return _postgres_plan("FORMAT JSON", statement, values)


def explain_as_kept(statement: str) -> str:
    """The plan of PostgreSQL's that a worker's session keeps: made without a look at the values."""
    with transaction.atomic():
        dialect().devote()
        plan = _postgres_plan("FORMAT JSON, GENERIC_PLAN", numbered(statement), None)
        transaction.set_rollback(True)
    return plan


def numbered(statement: str) -> str:
    """With PostgreSQL's own placeholders instead of the driver's."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        name = match[1] or f"value {len(numbers) + 1}"
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    return re.sub(r"%(?:\((\w+)\))?s", number, statement)


def _postgres_plan(options: str, statement: str, values: Any) -> str:
    (plan,) = connection.connection.execute(f"EXPLAIN ({options}) {statement}", values).fetchone()
    return "\n".join(_nodes(plan[0]["Plan"]))


@contextmanager
def without_statistics() -> Iterator[None]:
    """As on an SQLite ledger that nobody has analyzed, which is every one in production."""
    execute = connection.connection.execute
    kept = execute("SELECT * FROM sqlite_stat1").fetchall()
    execute("DELETE FROM sqlite_stat1")
    execute("ANALYZE sqlite_schema")
    try:
        yield
    finally:
        connection.connection.executemany("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", kept)
        execute("ANALYZE sqlite_schema")


def _nodes(node: dict[str, Any]) -> Iterator[str]:
    words = (
        node.get(key, "") for key in ("Node Type", "Relation Name", "Index Name", "Index Cond")
    )
    yield " ".join(str(word) for word in words if word)
    for child in node.get("Plans", ()):
        yield from _nodes(child)
