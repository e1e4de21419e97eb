"""Scenario 50, in small: what a claim reads does not grow with what is ready, paused, due later, or over."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from scheduling import ledger
from scheduling.ledger.dialects import dialect
from scheduling.ledger.values import Claim
from tenants.models import Tenant
from tests.ledger.kit import START, new, pause, put, run, take_all

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

FEW, MANY = 50, 2_000
LANES, PRIME = 3_000, 7919
STEPS = 100
"""Instructions of SQLite's machine between two calls of a progress handler."""


@pytest.fixture
def unlimited(tenant_a: Tenant, tenant_b: Tenant) -> None:
    Tenant.objects.update(
        max_queued=None, max_in_flight=None, rate_per_second=None, rate_burst=100_000
    )


@pytest.mark.usefixtures("unlimited")
def test_a_claim_reads_no_more_of_a_large_ledger_than_of_a_small_one(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    pause(queue="paused")
    fill(tenant_a, FEW)
    small = cost_of(claim_some)
    fill(tenant_a, MANY)
    large = cost_of(claim_some)
    assert large <= 2 * small, f"{small} became {large}"


@pytest.mark.usefixtures("unlimited")
def test_a_tenant_with_ten_tasks_is_served_at_once_beside_one_with_thousands(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    fill(tenant_a, MANY)
    put(tenant_b, 10, priority=-100)
    started = [claim.tenant for claim in claim_some()]
    assert started.count(tenant_b.slug) == len(started) // 2


@pytest.mark.parametrize("queues", [None, ["default", "mail"]], ids=["all queues", "two queues"])
def test_a_claim_looks_at_no_more_of_many_ready_lanes_than_of_few(queues: list[str] | None) -> None:
    """In a worker's session, which keeps a plan that was made when it did not know what for."""
    few = cost_beside(LANES // 20, queues)
    many = cost_beside(LANES, queues)
    assert many <= 2 * few, f"{few} became {many}"


def cost_beside(lanes: int, queues: list[str] | None) -> int:
    """Of a claim where at least so many tenants wait, who stand in another order than they were stored in."""
    wanted = range(Tenant.objects.count(), lanes)
    tenants = Tenant.objects.bulk_create(Tenant(slug=f"tenant-{n}") for n in wanted)
    ledger.enqueue([new(tenant) for tenant in tenants], now=START)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE scheduling_lane SET virtual_time = (id * %s) %% %s", [PRIME, LANES])
        cursor.execute("ANALYZE")
    with transaction.atomic():
        dialect().devote()
        cost = cost_of(lambda: ledger.claim(uuid4(), limit=8, queues=queues, now=START))
        transaction.set_rollback(True)
    return cost


def fill(tenant: Tenant, count: int) -> None:
    """So many more of every kind."""
    put(tenant, count)
    run(take_all())
    put(tenant, count, queue="paused")
    put(tenant, count, due_at=START + timedelta(hours=1))
    put(tenant, count)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def claim_some() -> list[Claim]:
    return ledger.claim(uuid4(), limit=8, now=START).claims


def cost_of(work: Callable[[], Any]) -> int:
    """In steps of SQLite's machine, or in rows that PostgreSQL read."""
    work()  # whatever is done once is done
    return COSTS[connection.vendor](work)


def steps(work: Callable[[], Any]) -> int:
    calls = 0

    def count() -> int:
        nonlocal calls
        calls += 1
        return 0

    connection.connection.set_progress_handler(count, STEPS)
    try:
        work()
    finally:
        connection.connection.set_progress_handler(None, STEPS)
    return calls * STEPS


def rows_read(work: Callable[[], Any]) -> int:
    with transaction.atomic():
        before = rows_read_so_far()
        work()
        return rows_read_so_far() - before


def rows_read_so_far() -> int:
    """In this transaction, and what the session has not reported of those before it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(seq_tup_read) + sum(coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables "
            "WHERE relname LIKE 'scheduling%' OR relname = 'tenants_tenant'"
        )
        return int(cursor.fetchone()[0])


COSTS = {"sqlite": steps, "postgresql": rows_read}
