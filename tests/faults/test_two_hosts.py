"""Scenarios 3 and 4 on real networks: workers on two hosts, and the one that is cut off from the ledger."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduling import ledger
from scheduling.models import Lease, Refusal, WorkerProcess
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.kit import Effects, Workers, enqueue, outcomes, the_task, wait_for_state
from tests.faults.network import SERVER, Host, Network, inside, two_hosts
from tests.faults.servers import PORT, SUPERUSER, ledger_at, own_server
from tests.waiting import until

pytestmark = pytest.mark.timeout(120)  # the network takes its time to give somebody up

SHORT, LONG = "--lease-seconds=2", "--lease-seconds=300"


class Cluster:
    """Workers on both hosts. Those of the second serve one queue only."""

    def __init__(self, network: Network, effects: Effects, logs: Path) -> None:
        self.one, self.two = network.hosts
        self._effects = effects
        self._logs = logs
        self._running: list[Workers] = []

    def start_one(self, *arguments: str) -> Workers:
        return self._start(self.one, *arguments)

    def start_two(self, *arguments: str) -> Workers:
        return self._start(self.two, "--queues=default", *arguments)

    def _start(self, host: Host, *arguments: str) -> Workers:
        workers = Workers(
            self._effects,
            self._logs / f"{host.name}.log",
            *("--processes=1", *arguments),
            command=host.command,
            # Sooner than usual, so that nobody has to wait for it.
            environment={
                "DATABASE_URL": f"postgres://{SUPERUSER}@{SERVER}:{PORT}/{SUPERUSER}"
                "?tcp_user_timeout=2000&connect_timeout=2"
            },
        )
        self._running.append(workers)
        count = len(self._running)
        until(lambda: WorkerProcess.objects.count() == count, what=f"for {host.name}")
        return workers

    def end(self) -> None:
        for workers in self._running:
            workers.kill_all()
            print(f"---- {workers.log.name}\n{workers.said()}")  # noqa: T201  # pytest shows it on failure


@pytest.fixture
def cluster(transactional_db: None, effects: Effects, tmp_path: Path) -> Iterator[Cluster]:
    with (
        two_hosts() as network,
        own_server(command=inside(network.server), address=SERVER) as server,
        ledger_at(server),
    ):
        cluster = Cluster(network, effects, tmp_path)
        try:
            yield cluster
        finally:
            cluster.end()


@pytest.fixture
def tenant(cluster: Cluster) -> Tenant:
    return Tenant.objects.create(slug="tenant-a")


def test_success_of_a_host_that_was_cut_off_is_refused_once_another_has_taken_over(
    cluster: Cluster, effects: Effects, tenant: Tenant
) -> None:
    cut_off = cluster.start_one(SHORT)
    task_id = enqueue(tasks.hold, "a", tenant=tenant)
    effects.wait_for("a started 1")
    cluster.start_two(SHORT)
    with cluster.one.cut_off():
        effects.open_gate("a")
        effects.wait_for("a finished 1")  # well within its lease, and nobody can be told
        wait_for_state(task_id, TaskState.SUCCEEDED)
        assert effects.lines()[-2:] == ["a started 2", "a finished 2"]
        crowd = [enqueue(tasks.effect, str(number), tenant=tenant) for number in range(20)]
        until(lambda: all(the_task(one).is_terminal for one in crowd))
        until(lambda: "does not answer" in cut_off.said())

    until(lambda: Refusal.objects.filter(task=task_id, generation=1).exists())
    assert outcomes(task_id) == ["lost", "succeeded"]
    assert sorted(effects.lines()[4:], key=int) == [str(number) for number in range(20)]
    assert goes_on(cluster, effects, tenant)


def test_handler_on_a_host_that_was_cut_off_learns_it_there_and_leaves_the_task_to_its_successor(
    cluster: Cluster, effects: Effects, tenant: Tenant
) -> None:
    cluster.start_one(SHORT)
    task_id = enqueue(tasks.hold_until_told, "a", tenant=tenant)
    effects.wait_for("a started 1")
    cluster.start_two(SHORT)
    with cluster.one.cut_off():
        effects.wait_for("a stopped 1")
        effects.wait_for("a started 2")

    until(lambda: Refusal.objects.filter(task=task_id, generation=1).exists())
    assert Lease.objects.get(pk=task_id).generation == 2
    ledger.cancel([task_id])
    wait_for_state(task_id, TaskState.CANCELLED)
    assert outcomes(task_id) == ["lost", "cancelled"]
    assert goes_on(cluster, effects, tenant)


def test_nothing_is_run_again_when_a_host_is_cut_off_for_less_than_a_lease(
    cluster: Cluster, effects: Effects, tenant: Tenant
) -> None:
    cut_off = cluster.start_one(LONG)
    ended, running = (enqueue(tasks.hold, word, tenant=tenant) for word in "ab")
    for word in "ab":
        effects.wait_for(f"{word} started 1")
    cluster.start_two(LONG)
    with cluster.one.cut_off():
        effects.open_gate("a")
        effects.wait_for("a finished 1")
        until(lambda: "does not answer" in cut_off.said())

    wait_for_state(ended, TaskState.SUCCEEDED)
    effects.open_gate("b")
    wait_for_state(running, TaskState.SUCCEEDED)
    assert outcomes(ended) == outcomes(running) == ["succeeded"]
    assert not Refusal.objects.exists()
    assert goes_on(cluster, effects, tenant)


def test_locks_of_a_host_that_was_cut_off_hold_the_others_up_no_longer_than_it_takes_to_notice(
    cluster: Cluster, effects: Effects, tenant: Tenant
) -> None:
    cluster.start_one(SHORT, "--queues=one")
    enqueue(tasks.hold_the_turn, "a", tenant=tenant, queue_name="one")
    effects.wait_for("a has the turn")
    cluster.start_two(SHORT)
    with cluster.one.cut_off():
        task_id = enqueue(tasks.effect, "goes on", tenant=tenant)
        wait_for_state(task_id, TaskState.SUCCEEDED, seconds=45)  # an idle transaction may last 60


def goes_on(cluster: Cluster, effects: Effects, tenant: Tenant) -> bool:
    """Whether the first host works as before. A task that only it can run is run by it."""
    task_id = enqueue(tasks.effect, "as before", tenant=tenant, queue_name="one")
    wait_for_state(task_id, TaskState.SUCCEEDED)
    return effects.lines().count("as before") == 1
