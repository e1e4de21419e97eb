"""The figures of the ledger as it stands."""

from datetime import timedelta
from uuid import uuid4

import pytest
from pytest_django import Settings

from scheduling.ledger.survey import LaneFigures, Survey, survey
from scheduling.models import WorkerProcess
from scheduling.models.worker import SILENT_AFTER
from tenants.models import Tenant
from tests.ledger.kit import at, failing, pause, put, run, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def seen(*, now: float = 0) -> Survey:
    return survey(at(now))


def lane(tenant: Tenant, queue: str = "default", *, now: float = 0) -> LaneFigures:
    (found,) = [
        one for one in seen(now=now).lanes if (one.tenant_id, one.queue) == (tenant.pk, queue)
    ]
    return found


def test_each_lane_says_how_many_wait_run_and_are_dead(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_a, 2)
    say(take(2), failing(retry_in=None))
    run((put(tenant_a), take())[1])
    put(tenant_a, 3)
    take()
    put(tenant_a, 4, due_at=at(60))
    put(tenant_b, 5, queue="mail")
    assert lane(tenant_a) == LaneFigures(
        tenant_a.pk,
        "default",
        ready=2,
        scheduled=4,
        running=1,
        dead=2,
        oldest_ready=at(0),
    )
    assert lane(tenant_b, "mail") == LaneFigures(tenant_b.pk, "mail", ready=5, oldest_ready=at(0))


def test_the_age_is_that_of_the_oldest_whatever_its_priority(tenant_a: Tenant) -> None:
    put(tenant_a, priority=-100)
    put(tenant_a, priority=100, now=at(30))
    found = seen(now=50)
    assert [found.age(one) for one in found.lanes] == [timedelta(seconds=50)]


def test_a_queue_in_which_nothing_is_ready_has_no_age(tenant_a: Tenant) -> None:
    put(tenant_a, due_at=at(60))
    found = seen(now=50)
    assert [found.age(one) for one in found.lanes] == [timedelta(0)]


def test_what_is_due_is_ready_also_while_no_worker_promotes_it(tenant_a: Tenant) -> None:
    put(tenant_a, 2, due_at=at(60))
    put(tenant_a, due_at=at(90))
    found = lane(tenant_a, now=70)
    assert (found.ready, found.scheduled, found.oldest_ready) == (2, 1, at(60))


def test_what_a_pause_stops_is_held_and_has_no_age(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_a, 2, queue="mail")
    put(tenant_a, due_at=at(5), queue="mail")
    put(tenant_b, queue="mail")
    pause(tenant=tenant_a, queue="mail")
    found = lane(tenant_a, "mail", now=10)
    assert (found.ready, found.held, found.oldest_ready) == (0, 3, None)
    assert lane(tenant_b, "mail", now=10).ready == 1


def test_a_task_whose_name_is_paused_is_held_once_a_claim_met_it(tenant_a: Tenant) -> None:
    put(tenant_a, 2, name="demo.held")
    pause(name="demo.held")
    take(2)
    assert (lane(tenant_a).ready, lane(tenant_a).held) == (0, 2)


def test_a_pause_of_everything_is_told_from_others(tenant_a: Tenant) -> None:
    pause(tenant=tenant_a)
    assert not seen().is_all_paused
    pause()
    assert seen().is_all_paused
    assert len(seen().pauses) == 2


def test_unfinished_tasks_come_from_the_counters(tenant_a: Tenant, settings: Settings) -> None:
    put(tenant_a, 3)
    run(take())
    settings.RENTROLL = settings.RENTROLL | {"LEDGER_MAX_QUEUED": 10}
    assert (seen().unfinished, seen().most_unfinished) == (2, 10)
    settings.RENTROLL = settings.RENTROLL | {"LEDGER_MAX_QUEUED": 0}
    assert seen().most_unfinished is None


def test_leases_that_ran_out_are_counted(tenant_a: Tenant) -> None:
    put(tenant_a, 2)
    take(2)
    assert (seen(now=9).overdue_leases, seen(now=11).overdue_leases) == (0, 2)


def test_a_worker_that_fell_silent_is_not_alive() -> None:
    for silence in (timedelta(0), SILENT_AFTER + timedelta(seconds=1)):
        WorkerProcess.objects.create(
            id=uuid4(), host="h", pid=1, slots=4, started_at=at(0), seen_at=at(0) - silence
        )
    assert len(seen().workers) == 2
    assert [worker.seen_at for worker in seen().alive] == [at(0)]
