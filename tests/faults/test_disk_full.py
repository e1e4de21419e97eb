"""Scenario 25: no room to write to, at an enqueue, a claim and a settlement; then there is room again."""

import resource
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from django.db import connection

from scheduling.api.v1 import trouble
from scheduling.models import Task, WorkerProcess
from scheduling.states import TaskState
from tenants.models import ApiToken, Tenant
from tests.api.kit import Api, problem
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, outcomes, wait_for_state
from tests.races.kit import put
from tests.waiting import until

SELF = 0
NO_ROOM = """
    CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
    END $$
"""
WRITTEN = ("task", "schedule", "lease", "attempt")


class Disk:
    """The ledger's, as processes see it."""

    def __init__(self) -> None:
        self._full = ExitStack()

    def fill(self, *pids: int) -> None:
        """Let none of those processes write more; on PostgreSQL, let nobody."""
        if connection.vendor == "sqlite":
            for pid in pids:
                self._full.callback(resource.prlimit, pid, resource.RLIMIT_FSIZE, UNLIMITED)
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (self._log_size(), UNLIMITED[1]))
        else:
            run(NO_ROOM)
            self._full.callback(run, "DROP FUNCTION no_room CASCADE")
            for table in WRITTEN:
                run(
                    f"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE OR DELETE "
                    f"ON scheduling_{table} EXECUTE FUNCTION no_room()"
                )

    def free(self) -> None:
        self._full.close()

    def _log_size(self) -> int:
        """Of the write-ahead log, which can only grow, because somebody reads what was in it so far."""
        reader = self._full.enter_context(closing(connection.copy()))
        run("PRAGMA wal_checkpoint(TRUNCATE)")
        put(Tenant.objects.earliest("pk"), 200, queue="for the log to have a size")
        reader.cursor().execute("BEGIN DEFERRED")
        reader.cursor().execute("SELECT count(*) FROM scheduling_task").fetchone()
        return Path(f"{connection.settings_dict['NAME']}-wal").stat().st_size


UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.free()


@pytest.mark.django_db(transaction=True)
@pytest.mark.ledger
def test_an_enqueue_is_answered_503_and_nothing_of_it_is_kept(
    tenant_a: Tenant, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    api = Api(ApiToken.objects.issue(tenant=tenant_a)[1])
    assert api.enqueue().status_code == 201
    disk.fill(SELF)
    before = Task.objects.count()
    trouble._met.clear()
    for _ in range(20):
        answer = api.enqueue()
        assert problem(answer) == (503, "unavailable")
        assert int(answer["Retry-After"]) >= 1
    assert api.get("/v1/tasks").status_code == 200
    assert Task.objects.count() == before
    assert len([one for one in caplog.records if one.name == trouble.__name__]) == 1

    disk.free()
    assert api.enqueue().status_code == 201


def test_workers_wait_for_room_to_claim_and_settle_without_flooding_the_log(
    start_workers: Start, effects: Effects, tenant_a: Tenant, disk: Disk
) -> None:
    workers = start_workers(
        "--processes=1", "--threads=2", "--lease-seconds=300", "--queues=default"
    )
    running = enqueue(tasks.hold, "a", tenant=tenant_a)
    effects.wait_for("a started 1")
    waiting = enqueue(tasks.effect, "b", tenant=tenant_a, priority=-1)
    effects.wait_for("b")
    wait_for_state(waiting, TaskState.SUCCEEDED)

    disk.fill(*WorkerProcess.objects.values_list("pid", flat=True))
    effects.open_gate("a")
    effects.wait_for("a finished 1")
    until(lambda: "does not answer" in workers.said())
    if connection.vendor == "sqlite":  # elsewhere nobody can enqueue now
        waiting = enqueue(tasks.effect, "c", tenant=tenant_a)
    assert Task.objects.get(pk=running).state == TaskState.RUNNING

    disk.free()
    wait_for_state(running, TaskState.SUCCEEDED)
    wait_for_state(waiting, TaskState.SUCCEEDED)
    until(lambda: "answers again" in workers.said())
    assert outcomes(running) == ["succeeded"]
    assert workers.said().count("does not answer") == 1
