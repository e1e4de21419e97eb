"""Scenario 42: no clock can steal a lease, or keep a dead one."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from scheduling import ledger
from scheduling.ledger.values import Claim, NewTask
from scheduling.models import Lease, Task
from scheduling.states import TaskState
from scheduling.workers.reaper import SECOND_LOOK, Reaper
from tenants.models import Tenant
from tests.workers.kit import Clock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]
LEASE = timedelta(seconds=30)
PERIOD = 3.0
DAY = timedelta(days=1)


@pytest.fixture
def claim(tenant_a: Tenant) -> Claim:
    """Of a worker that nobody knows to be gone, or to be alive."""
    ledger.enqueue([NewTask(tenant_id=tenant_a.pk, name="demo.echo")])
    (claim,) = ledger.claim(uuid4(), limit=1, lease=LEASE).claims
    return claim


@pytest.fixture
def reaper(moved_clock: Clock) -> Reaper:
    return Reaper(LEASE)


def look_until(reaper: Reaper, moved_clock: Clock, seconds: float) -> None:
    """Look when it is due, for so long by the monotonic clock."""
    end = moved_clock.seconds + seconds
    while reaper.due_at <= end:
        moved_clock.seconds = max(moved_clock.seconds, reaper.due_at)
        reaper.run()
    moved_clock.seconds = end


def is_held(claim: Claim) -> bool:
    return Lease.objects.filter(pk=claim.task_id).exists()


def test_lease_ends_when_it_was_silent_for_its_length_and_not_before(
    reaper: Reaper, moved_clock: Clock, claim: Claim
) -> None:
    look_until(reaper, moved_clock, 29.9)
    assert is_held(claim)

    look_until(reaper, moved_clock, 0.2)

    assert not is_held(claim)
    task = Task.objects.get()
    assert (task.state, task.attempts) == (TaskState.QUEUED, 1)


def test_renewed_lease_is_watched_anew(reaper: Reaper, moved_clock: Clock, claim: Claim) -> None:
    for _ in range(5):
        look_until(reaper, moved_clock, 20)
        ledger.renew([claim], lease=LEASE)

    assert is_held(claim)


@pytest.mark.parametrize("step", [-DAY, timedelta(hours=-1), timedelta(hours=1), DAY])
def test_step_of_the_wall_clock_ends_no_lease_that_is_renewed(
    step: timedelta, reaper: Reaper, moved_clock: Clock, claim: Claim
) -> None:
    look_until(reaper, moved_clock, 20)
    Lease.objects.update(expires_at=claim.expires_at + step)  # renewed by a clock that was set

    look_until(reaper, moved_clock, 20)

    assert is_held(claim)


@pytest.mark.parametrize("step", [-DAY, DAY])
def test_step_of_the_wall_clock_keeps_no_lease_that_is_silent(
    step: timedelta, reaper: Reaper, moved_clock: Clock, claim: Claim
) -> None:
    Lease.objects.update(expires_at=claim.expires_at + step)

    look_until(reaper, moved_clock, 31)

    assert not is_held(claim)


def test_lease_is_looked_at_when_it_ends_and_not_a_period_later(
    reaper: Reaper, moved_clock: Clock, claim: Claim
) -> None:
    reaper.run()
    moved_clock.pass_(29.0)

    reaper.run()

    assert reaper.due_at == pytest.approx(moved_clock.seconds + 1.0)


def test_idle_reaper_looks_once_a_period(db: None, reaper: Reaper, moved_clock: Clock) -> None:
    reaper.run()

    assert reaper.due_at == moved_clock.seconds + PERIOD


def test_lease_of_a_worker_known_to_be_gone_is_left_to_its_supervisor_for_one_look(
    reaper: Reaper, moved_clock: Clock, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: list[UUID] = [claim.worker]
    monkeypatch.setattr(ledger, "workers_known_gone", lambda: gone)

    reaper.run()
    assert is_held(claim)
    assert reaper.due_at == moved_clock.seconds + SECOND_LOOK
    reaper.run()

    assert not is_held(claim)
