"""Scenario 51: an idle transaction on PostgreSQL that still sees all that was ever there.

While it is open nothing that was deleted since can be cleaned up, and a claim steps over the schedules of all that was
claimed since. It goes on; once that transaction has ended it costs less at once, and after a vacuum what it did.
"""

from typing import Any

import pytest
from django.db import connection

from scheduling.models import Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.races.kit import Session, put, say, take

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.ledger,
    pytest.mark.skipif(
        connection.vendor == "sqlite",
        reason="On SQLite deleted rows are gone at once, and only the log grows: tests/sqlite/test_log.py.",
    ),
]

BATCH, BATCHES = 100, 30
HEAD = """
    EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
    SELECT task_id FROM scheduling_schedule
    WHERE lane_id = (SELECT id FROM scheduling_lane WHERE queue = 'default') AND readiness = 1
    ORDER BY lane_id, priority DESC, due_at, task_id LIMIT 1
"""


def pages_to_the_head_of_the_lane() -> int:
    """Read by what a claim does first."""
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute(HEAD)
        plan: dict[str, Any] = cursor.fetchone()[0][0]["Plan"]
        cursor.execute("RESET enable_seqscan")
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def look_at_everything() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT count(*) FROM scheduling_schedule")


def run_a_batch(tenant: Tenant) -> None:
    put(tenant, BATCH)
    claims = take(BATCH)
    assert len(say(claims).settled) == BATCH


def test_an_idle_transaction_stops_no_claim_and_costs_nothing_once_it_is_vacuumed_away(
    tenant_a: Tenant,
) -> None:
    Tenant.objects.update(max_queued=None, max_in_flight=None, rate_per_second=None)
    run_a_batch(tenant_a)
    at_first = pages_to_the_head_of_the_lane()
    with Session() as idle:
        with idle.transaction():
            idle.do(look_at_everything)
            for _ in range(BATCHES):
                run_a_batch(tenant_a)
            meanwhile = pages_to_the_head_of_the_lane()
        run_a_batch(tenant_a)
    pages_to_the_head_of_the_lane()  # this one still steps over them, and marks them
    marked = pages_to_the_head_of_the_lane()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM scheduling_schedule")
    cleaned = pages_to_the_head_of_the_lane()

    assert Task.objects.filter(state=TaskState.SUCCEEDED).count() == BATCH * (BATCHES + 2)
    assert meanwhile > at_first, "it sees what it should not: the transaction held nothing back"
    assert cleaned < marked < meanwhile, (at_first, meanwhile, marked, cleaned)
    assert cleaned <= at_first + 2
