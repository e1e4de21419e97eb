"""Scenario 42: somebody sets the clock while workers are idle, at work, and waiting to try again."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection

from scheduling.models import Attempt, Lease, Refusal
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, Workers, enqueue, outcomes, the_task, wait_for_state
from tests.faults.servers import ledger_at, own_server
from tests.faults.stepped import Steps, no_litter, this_process_as_well
from tests.waiting import until

LEASE_TO_KEEP = "--lease-seconds=3"
NOT_AT_ALL, TWO_MINUTES = timedelta(), timedelta(minutes=2)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BACK_AND_FORTH = (-TWO_MINUTES, -HOUR, HOUR, DAY, NOT_AT_ALL)
A_LEASE = 5
"""Renewals, one every third of it: a lease and a half."""


@pytest.fixture
def steps(transactional_db: None) -> Iterator[Steps]:
    with no_litter():
        yield Steps(
            Path(settings.DATA_DIR)
        )  # where a server that runs as somebody else can read it


@pytest.fixture
def start_stepped(steps: Steps, start_workers: Start) -> Iterator[Callable[[], Workers]]:
    """Starts workers whose own clock is set."""
    started: list[Workers] = []

    def start() -> Workers:
        started.append(start_workers("--processes=1", LEASE_TO_KEEP, environment=steps.environment))
        return started[-1]

    yield start
    for workers in started:
        workers.kill_all()


@pytest.fixture
def stepped_ledger(
    steps: Steps, start_stepped: Callable[[], Workers], monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The ledger's clock is set as well: that of its server, or of everyone who works on its file."""
    if connection.vendor == "sqlite":
        with this_process_as_well(steps, monkeypatch):
            yield
    else:
        with (
            own_server(environment=steps.environment) as server,
            ledger_at(server),
        ):
            yield


@pytest.mark.usefixtures("stepped_ledger")
class TestClockOfTheLedger:
    def test_what_a_live_worker_holds_is_not_run_again_wherever_it_is_set_to(
        self, start_stepped: Callable[[], Workers], steps: Steps, effects: Effects
    ) -> None:
        tenant = Tenant.objects.create(slug="tenant-a")
        for _ in range(2):
            start_stepped()
        task_id = enqueue(tasks.hold, "a", tenant=tenant)
        effects.wait_for("a started 1")

        for by in BACK_AND_FORTH:
            steps.set(by)
            wait_for_renewals(task_id)
            left = Lease.objects.get(pk=task_id).expires_at - steps.now()
            assert abs(left) < timedelta(minutes=1), "the clock was not set"

        assert_it_ran_once(task_id, effects)

    def test_idle_workers_start_what_comes_and_nothing_else_wherever_it_is_set_to(
        self, start_stepped: Callable[[], Workers], steps: Steps, effects: Effects
    ) -> None:
        tenant = Tenant.objects.create(slug="tenant-a")
        workers = start_stepped()
        for number, by in enumerate(BACK_AND_FORTH):
            steps.set(by)
            wait_for_state(enqueue(tasks.effect, str(number), tenant=tenant), TaskState.SUCCEEDED)

        assert effects.lines() == [str(number) for number in range(len(BACK_AND_FORTH))]
        assert Attempt.objects.count() == len(BACK_AND_FORTH)
        assert "ERROR" not in workers.said()

    def test_what_waits_to_be_tried_again_waits_for_its_time_of_day_and_then_runs_once(
        self, start_stepped: Callable[[], Workers], steps: Steps, effects: Effects
    ) -> None:
        tenant = Tenant.objects.create(slug="tenant-a")
        start_stepped()
        words = [str(number) for number in range(20)]
        crowd = [enqueue(tasks.fail_at_first, word, tenant=tenant) for word in words]
        until(lambda: Attempt.objects.count() == len(crowd))

        for by in (-TWO_MINUTES, -HOUR, NOT_AT_ALL):
            steps.set(by)
            wait_for_state(enqueue(tasks.noop, tenant=tenant), TaskState.SUCCEEDED)
            assert {the_task(task_id).state for task_id in crowd} == {TaskState.QUEUED}
        steps.set(DAY)
        for task_id in crowd:
            wait_for_state(task_id, TaskState.SUCCEEDED)

        starts = [f"{word} started {generation}" for word in words for generation in (1, 2)]
        assert sorted(effects.lines()) == sorted(starts)


def test_what_a_live_worker_holds_is_not_run_again_wherever_its_own_clock_is_set_to(
    start_stepped: Callable[[], Workers],
    start_workers: Start,
    steps: Steps,
    effects: Effects,
    tenant_a: Tenant,
) -> None:
    start_stepped()
    task_id = enqueue(tasks.hold, "a", tenant=tenant_a)
    effects.wait_for("a started 1")
    start_workers("--processes=1", LEASE_TO_KEEP)

    for by in BACK_AND_FORTH:
        steps.set(by)
        wait_for_renewals(task_id)

    assert_it_ran_once(task_id, effects)


def wait_for_renewals(task_id: UUID) -> None:
    """As many as it takes for a lease that nobody renewed to be over."""
    expiries = set()

    def renewals() -> int:
        expiries.add(Lease.objects.get(pk=task_id).expires_at)
        return len(expiries) - 1

    until(lambda: renewals() > A_LEASE)


def assert_it_ran_once(task_id: UUID, effects: Effects) -> None:
    effects.open_gate("a")
    wait_for_state(task_id, TaskState.SUCCEEDED)
    assert outcomes(task_id) == ["succeeded"]
    assert effects.lines() == ["a started 1", "a finished 1"]
    assert not Refusal.objects.exists()
