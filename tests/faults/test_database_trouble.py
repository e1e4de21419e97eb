"""Scenarios 17, 18, 19, 25 in small: the ledger does not answer, or handlers leave their connections in a mess."""

import os
from pathlib import Path

from django.db import connection

from scheduling.models import Attempt, Lease, WorkerProcess
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
    tasks.leave_transaction_open_elsewhere,
    tasks.swallow_an_integrity_error,
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


def test_sixteen_slots_whose_handlers_start_threads_that_query_keep_no_connection_of_theirs(
    start_workers: Start, tenant_a: Tenant
) -> None:
    slots, rounds, many = 16, 4, 250
    start_workers("--processes=1", f"--threads={slots}", SLOW_LEASE)
    wait_for_state(enqueue(tasks.query_in_a_thread, tenant=tenant_a), TaskState.SUCCEEDED)
    worker = WorkerProcess.objects.get().pid
    before = open_files(worker)
    one = open_files_of_a_connection()
    peak = 0

    backend = tasks.query_in_a_thread.get_backend()
    task = tasks.query_in_a_thread.using(tenant=tenant_a)
    for round_ in range(1, rounds + 1):
        backend.bulk_enqueue([(task, [], {})] * many)
        while Attempt.objects.count() <= round_ * many:
            peak = max(peak, open_files(worker))

    assert Attempt.objects.filter(outcome="succeeded").count() == rounds * many + 1
    assert peak <= before + 2 * slots * one, "one that runs and one that has ended, of each slot"


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def open_files_of_a_connection() -> int:
    connection.close()
    without = open_files(os.getpid())
    connection.ensure_connection()
    return open_files(os.getpid()) - without
