"""What ended in a minute, per tenant, so that charts and metrics never scan history."""

from datetime import timedelta

import pytest

from scheduling import ledger
from scheduling.ledger.values import Release, Snooze, Stop, Succeed
from scheduling.models import Throughput
from tenants.models import Tenant
from tests.ledger.kit import NO_DELAY, at, failing, put, run, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

COUNTS = ("succeeded", "retried", "dead", "cancelled", "lost")


def counts(tenant: Tenant, *, minute: float = 0) -> dict[str, int]:
    """Of one minute, without the zeros."""
    row = Throughput.objects.filter(tenant=tenant, minute=at(minute)).values(*COUNTS).first()
    return {name: count for name, count in (row or {}).items() if count}


@pytest.mark.parametrize(
    ("verdict", "counted"),
    [
        (Succeed(), {"succeeded": 1}),
        (failing(), {"retried": 1}),
        (failing(retry_in=None), {"dead": 1}),
        (Stop(), {"cancelled": 1}),
        (Snooze(NO_DELAY), {}),
        (Release(), {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_end_counts_as_what_became_of_the_task(
    tenant_a: Tenant, verdict: ledger.Verdict, counted: dict[str, int]
) -> None:
    put(tenant_a)
    say(take(), verdict, now=at(1))
    assert counts(tenant_a) == counted


def test_a_lost_attempt_counts_as_lost_and_as_what_became_of_the_task(tenant_a: Tenant) -> None:
    put(tenant_a, max_attempts=2)
    for second in (0, 10):
        take(now=at(second))
        ledger.reap(ledger.held_leases(), now=at(second + 1))
    assert counts(tenant_a) == {"lost": 2, "retried": 1, "dead": 1}


def test_a_task_cancelled_before_it_started_counts(tenant_a: Tenant) -> None:
    ledger.cancel(put(tenant_a, 3), now=at(1))
    assert counts(tenant_a) == {"cancelled": 3}


def test_a_task_whose_deadline_passed_while_it_waited_counts_as_dead(tenant_a: Tenant) -> None:
    put(tenant_a, 2, deadline=at(1))
    take(2, now=at(1))
    assert counts(tenant_a) == {"dead": 2}


def test_a_task_counts_in_the_minute_in_which_it_ended(tenant_a: Tenant) -> None:
    put(tenant_a, 3)
    claims = take(3)
    run(claims[:1], now=at(59.999))
    run(claims[1:], now=at(60))
    assert counts(tenant_a) == {"succeeded": 1}
    assert counts(tenant_a, minute=60) == {"succeeded": 2}


def test_batches_of_one_minute_add_up_per_tenant(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_a, 4)
    put(tenant_b, 2)
    claims = take(6)
    run(claims[:3], now=at(1))
    run(claims[3:], now=at(2))
    assert counts(tenant_a) == {"succeeded": 4}
    assert counts(tenant_b) == {"succeeded": 2}
    assert Throughput.objects.count() == 2


def test_waiting_and_running_are_summed_in_seconds(tenant_a: Tenant) -> None:
    put(tenant_a, 2, due_at=at(-5))
    run(take(2, now=at(1)), now=at(3.5))
    row = Throughput.objects.get()
    assert row.wait_seconds == pytest.approx(2 * 6)
    assert row.run_seconds == pytest.approx(2 * 2.5)


def test_a_clock_set_back_while_it_ran_subtracts_nothing(tenant_a: Tenant) -> None:
    put(tenant_a)
    run(take(), now=at(-3600))
    assert Throughput.objects.get().run_seconds == 0


def test_a_retry_waits_from_when_it_was_due_again(tenant_a: Tenant) -> None:
    put(tenant_a)
    say(take(), failing(retry_in=timedelta(seconds=20)), now=at(0))
    run(take(now=at(21)), now=at(21))
    assert Throughput.objects.get().wait_seconds == pytest.approx(1)


def test_a_stale_settlement_counts_nothing(tenant_a: Tenant) -> None:
    put(tenant_a, max_attempts=1)
    (zombie,) = take()
    ledger.reap(ledger.held_leases(), now=at(11))
    say(zombie, Succeed(), now=at(12))
    assert counts(tenant_a) == {"lost": 1, "dead": 1}
