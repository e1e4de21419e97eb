"""Scenario 17: PostgreSQL stops and comes back, or takes no writes for a while, under live workers."""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection

from scheduling.models import Attempt
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, Workers, enqueue, outcomes, wait_for_state
from tests.faults.servers import Server, ledger_at, own_server
from tests.waiting import until

SLOW_LEASE = "--lease-seconds=300"


@pytest.fixture
def server(transactional_db: None) -> Iterator[Server]:
    with own_server() as server, ledger_at(server):
        yield server


@pytest.fixture
def start(server: Server, start_workers: Start) -> Iterator[Callable[[], Workers]]:
    """Starts workers on that server."""
    started: list[Workers] = []

    def start() -> Workers:
        started.append(start_workers("--processes=2", SLOW_LEASE))
        return started[-1]

    yield start
    for workers in started:
        workers.kill_all()


def restart(server: Server, *, meanwhile: Callable[[], object] = lambda: None) -> None:
    connection.close()
    server.stop()
    meanwhile()
    server.start()


def test_workers_go_on_after_a_restart_while_idle_at_work_and_before_they_could_settle(
    server: Server, start: Callable[[], Workers], effects: Effects
) -> None:
    tenant = Tenant.objects.create(slug="tenant-a")
    workers = start()
    wait_for_state(enqueue(tasks.effect, "before", tenant=tenant), TaskState.SUCCEEDED)

    restart(server)  # while they are idle
    at_work, ended = (enqueue(tasks.hold, word, tenant=tenant) for word in "ab")
    for word in "ab":
        effects.wait_for(f"{word} started 1")

    def end_one() -> None:
        effects.open_gate("b")
        effects.wait_for("b finished 1")
        until(lambda: "does not answer" in workers.said())

    restart(server, meanwhile=end_one)
    effects.open_gate("a")

    for task_id in (at_work, ended):
        wait_for_state(task_id, TaskState.SUCCEEDED)
        assert outcomes(task_id) == ["succeeded"]
    assert Attempt.objects.count() == 3


def test_what_ends_while_nothing_can_be_written_is_settled_once_it_can(
    server: Server, start: Callable[[], Workers], effects: Effects
) -> None:
    tenant = Tenant.objects.create(slug="tenant-a")
    workers = start()
    task_id = enqueue(tasks.hold, "a", tenant=tenant)
    effects.wait_for("a started 1")

    server.set("default_transaction_read_only", "on")
    effects.open_gate("a")
    effects.wait_for("a finished 1")
    until(lambda: "read-only" in workers.said())
    server.set("default_transaction_read_only", "off")

    wait_for_state(task_id, TaskState.SUCCEEDED)
    assert outcomes(task_id) == ["succeeded"]
    wait_for_state(enqueue(tasks.effect, "after", tenant=tenant), TaskState.SUCCEEDED)
    assert workers.said().count("Traceback") == 0
