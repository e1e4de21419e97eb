"""Scenarios 17, 18, 25 in small: the ledger does not answer, or handlers leave their connections in a mess."""

from django.db import connection

from scheduling.models import Lease
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, outcomes, wait_for_state
from tests.waiting import until

SLOW_LEASE = "--lease-seconds=300"
AWAY = "lease_that_is_away"


def rename(table: str, to: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO {to}")


def sever_connections() -> None:
    """Of everybody else, as a restart of the server does. SQLite has no server that could."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


def test_result_of_a_handler_that_ends_during_an_outage_is_settled_after_it(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    workers = start_workers("--processes=1", SLOW_LEASE)
    task_id = enqueue(tasks.hold, "a", tenant=tenant_a)
    effects.wait_for("a started 1")

    rename("scheduling_lease", to=AWAY)
    sever_connections()
    try:
        effects.open_gate("a")
        effects.wait_for("a finished 1")
        until(lambda: "does not answer" in workers.said())
    finally:
        rename(AWAY, to="scheduling_lease")

    wait_for_state(task_id, TaskState.SUCCEEDED)
    assert outcomes(task_id) == ["succeeded"]
    until(lambda: "answers again" in workers.said())
    assert workers.said().count("does not answer") == 1


def test_idle_workers_go_on_when_their_connections_were_severed(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=2", SLOW_LEASE)
    enqueue(tasks.effect, "before", tenant=tenant_a)
    effects.wait_for("before")

    sever_connections()

    enqueue(tasks.effect, "after", tenant=tenant_a)
    effects.wait_for("after")


MESSES = [
    tasks.leave_transaction_open,
    tasks.leave_raw_transaction_open,
    tasks.leave_hidden_transaction_open,
    tasks.change_session,
    tasks.break_connection,
    tasks.query_in_a_thread,
]


def test_handler_finds_a_clean_connection_whatever_the_one_before_it_left(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", "--threads=1", SLOW_LEASE)
    messes = []
    for number, mess in enumerate([tasks.noop, *MESSES]):
        messes.append(enqueue(mess, tenant=tenant_a, max_attempts=1))
        enqueue(tasks.count_tenants, str(number), tenant=tenant_a, max_attempts=1)

    until(lambda: len(effects.lines()) == len(messes))

    seen = {line.partition(": ")[2] for line in effects.lines()}
    assert seen == {effects.lines()[0].partition(": ")[2]}, effects.lines()
    assert effects.lines()[0].startswith("0: 1 tenants")
    until(lambda: not Lease.objects.exists())


def test_threads_that_handlers_start_leave_no_connections_open(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", "--threads=1", SLOW_LEASE)
    for number in range(2):
        for _ in range(50):
            enqueue(tasks.query_in_a_thread, tenant=tenant_a)
        enqueue(tasks.count_open_files, f"{number}", tenant=tenant_a)

    until(lambda: len(effects.lines()) == 2)

    first, second = (line.partition(": ")[2] for line in effects.lines())
    assert first == second
