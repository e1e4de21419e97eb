"""What has become due is made ready, in chunks, and the answer says when to look again."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduling import ledger
from scheduling.models import Lane, Schedule
from scheduling.states import Readiness
from tenants.models import Tenant
from tests.ledger.kit import START, at, put, run, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_with_nothing_waiting_there_is_nothing_to_wait_for() -> None:
    assert ledger.promote(now=START) == ledger.Promotion(promoted=0, next_due=None, now=START)


def test_only_what_is_due_becomes_ready(tenant_a: Tenant) -> None:
    for due in (10, 20, 30):
        put(tenant_a, due_at=at(due))
    assert ledger.promote(now=at(9)) == ledger.Promotion(0, at(10), at(9))
    assert ledger.promote(now=at(20)) == ledger.Promotion(2, at(30), at(20))
    assert ledger.promote(now=at(30)) == ledger.Promotion(1, None, at(30))
    assert not Schedule.objects.exclude(readiness=Readiness.READY).exists()


def test_a_chunk_is_as_large_as_it_was_asked_for_and_the_longest_due_go_first(
    tenant_a: Tenant,
) -> None:
    later = put(tenant_a, 3, due_at=at(20))
    sooner = put(tenant_a, 4, due_at=at(10))
    first = ledger.promote(limit=4, now=at(20))
    assert (first.promoted, first.next_due) == (4, at(20))
    ready = Schedule.objects.filter(readiness=Readiness.READY)
    assert set(ready.values_list("pk", flat=True)) == set(sooner)
    assert ledger.promote(limit=4, now=at(20)).promoted == 3
    assert run(take(9, now=at(20)), now=at(20)) == sooner + later


def test_what_is_ready_already_is_promoted_no_second_time(tenant_a: Tenant) -> None:
    put(tenant_a, due_at=at(10))
    assert ledger.promote(now=at(10)).promoted == 1
    assert ledger.promote(now=at(10)).promoted == 0


def test_a_lane_wakes_up_for_what_became_due_in_it(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_a, queue="idle", due_at=at(10))
    put(tenant_b, queue="later", due_at=at(20))
    ledger.promote(now=at(10))
    ready = Lane.objects.filter(readiness=Readiness.READY)
    assert list(ready.values_list("queue", flat=True)) == ["idle"]


def test_a_retry_waits_to_be_promoted_like_any_other(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    take()
    ledger.reap(ledger.held_leases(), now=at(1))
    next_due = ledger.promote(now=at(1)).next_due
    assert next_due is None or at(1) <= next_due <= at(1.4)
    assert run(take(now=at(2)), now=at(2)) == [task_id]


def test_an_idle_look_takes_nobody_the_turn_to_write(tenant_a: Tenant) -> None:
    put(tenant_a, due_at=at(10))
    with CaptureQueriesContext(connection) as queries:
        ledger.promote(now=at(9))
    assert {query["sql"].split()[0] for query in queries} == {"SELECT"}


def test_a_clock_set_back_promotes_nothing_early(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a, due_at=at(10))
    assert ledger.promote(now=at(-3600)).promoted == 0
    assert run(take(now=at(10)), now=at(10)) == [task_id]
