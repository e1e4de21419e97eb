"""How much a tenant may have unfinished, and how fast it may enqueue."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from scheduling import ledger
from scheduling.errors import LimitExceeded
from scheduling.ledger.dialects import dialect
from scheduling.ledger.values import Release, Snooze, Succeed
from scheduling.models import Intake, Task
from tenants.models import Tenant
from tests.ledger.kit import START, at, failing, put, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

SEVEN_A_MINUTE = 7 / 60


def limit(tenant: Tenant, **limits: float | None) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(**limits)


def refused(tenant: Tenant, count: int = 1, *, now: datetime = START) -> LimitExceeded:
    with pytest.raises(LimitExceeded) as refusal:
        put(tenant, count, now=now)
    return refusal.value


# max_queued


def test_the_last_task_below_the_limit_is_accepted_and_the_next_refused(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=3)
    put(tenant_a, 3)
    refusal = refused(tenant_a)
    assert (refusal.limit, refusal.allowed) == ("max_queued", 3)
    assert refusal.retry_after > timedelta(0)
    assert Task.objects.count() == 3


def test_a_batch_that_does_not_fit_is_refused_whole(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=3)
    put(tenant_a, 2)
    refused(tenant_a, 2)
    assert Task.objects.count() == 2
    put(tenant_a)


def test_a_running_task_still_counts(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=1)
    put(tenant_a)
    take()
    assert refused(tenant_a).limit == "max_queued"


@pytest.mark.parametrize("verdict", [failing(), Snooze(timedelta(0)), Release()])
def test_a_task_that_will_run_again_still_counts(tenant_a: Tenant, verdict: ledger.Verdict) -> None:
    limit(tenant_a, max_queued=1)
    put(tenant_a)
    say(take(), verdict)
    assert refused(tenant_a).limit == "max_queued"


@pytest.mark.parametrize("verdict", [Succeed(), failing(retry_in=None)])
def test_a_task_that_is_over_makes_room_for_one(tenant_a: Tenant, verdict: ledger.Verdict) -> None:
    limit(tenant_a, max_queued=1)
    put(tenant_a)
    say(take(), verdict)
    put(tenant_a)
    refused(tenant_a)


def test_a_cancelled_task_makes_room_for_one(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=1)
    ledger.cancel(put(tenant_a), now=START)
    put(tenant_a)
    refused(tenant_a)


def test_a_task_whose_deadline_passed_makes_room_for_one(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=1)
    put(tenant_a, deadline=at(1))
    take(now=at(1))
    put(tenant_a, now=at(1))
    refused(tenant_a, now=at(1))


def test_a_limit_that_was_raised_holds_at_once(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=1)
    put(tenant_a)
    limit(tenant_a, max_queued=2)
    put(tenant_a)
    assert refused(tenant_a).allowed == 2


def test_who_was_refused_a_moment_ago_is_accepted_once_there_is_room(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=1)
    put(tenant_a)
    refused(tenant_a)
    say(take(), Succeed())
    put(tenant_a)
    refused(tenant_a)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"max_queued": 3, "rate_per_second": 1, "rate_burst": 10}, "max_queued"),
        ({"max_queued": None, "rate_per_second": 1, "rate_burst": 10}, "rate_per_second"),
    ],
)
def test_who_finds_room_at_every_look_and_none_at_any_try_is_refused(
    tenant_a: Tenant, limits: dict[str, float | None], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others were faster each time. It is not let in unasked, nor does it try for ever."""
    limit(tenant_a, **limits)
    monkeypatch.setattr(type(dialect()), "admit", lambda *_, **__: None)
    refusal = refused(tenant_a, 2)
    assert refusal.limit == told
    assert refusal.retry_after > timedelta(0)
    assert not Task.objects.exists()


def test_a_key_that_stands_is_answered_while_its_tenant_is_full(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=1)
    stands = put(tenant_a, idempotency_key="key", fingerprint="same")
    refused(tenant_a)
    assert put(tenant_a, idempotency_key="key", fingerprint="same") == stands


def test_a_full_tenant_keeps_nobody_else_out(tenant_a: Tenant, tenant_b: Tenant) -> None:
    limit(tenant_a, max_queued=1, rate_per_second=0.1, rate_burst=1)
    put(tenant_a)
    refused(tenant_a)
    assert len(put(tenant_b, 50)) == 50


def test_what_another_tenant_has_finished_makes_no_room(tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_b, 5)
    say(take(5), Succeed())
    limit(tenant_a, max_queued=1)
    put(tenant_a)
    refused(tenant_a)


# rate_per_second


def as_fast_as_allowed(tenant: Tenant, *, until: datetime) -> Iterator[datetime]:
    """Enqueue at the very instants that the refusals name; yields when each task was accepted."""
    now = START
    while now < until:
        put(tenant, now=now)
        yield now
        wait = refused(tenant, now=now).retry_after
        refused(tenant, now=now + wait - timedelta(milliseconds=1))
        now += wait


def most_within(window: timedelta, instants: list[datetime]) -> int:
    return max(sum(first <= one < first + window for one in instants) for first in instants)


def test_seven_a_minute_is_at_most_seven_n_and_one_in_any_n_minutes(tenant_a: Tenant) -> None:
    limit(tenant_a, rate_per_second=SEVEN_A_MINUTE, rate_burst=1)
    accepted = list(as_fast_as_allowed(tenant_a, until=at(3600)))
    assert len(accepted) == 7 * 60
    for minutes in (1, 2, 5, 30, 60):
        assert most_within(timedelta(minutes=minutes), accepted) <= 7 * minutes + 1


def test_an_idle_hour_earns_no_more_than_the_burst(tenant_a: Tenant) -> None:
    limit(tenant_a, rate_per_second=SEVEN_A_MINUTE, rate_burst=1)
    put(tenant_a)
    put(tenant_a, now=at(3600))
    refused(tenant_a, now=at(3600))


def test_the_burst_is_accepted_at_once_and_no_task_more(tenant_a: Tenant) -> None:
    limit(tenant_a, rate_per_second=SEVEN_A_MINUTE, rate_burst=5)
    put(tenant_a, 5)
    refusal = refused(tenant_a)
    assert (refusal.limit, refusal.allowed) == ("rate_per_second", SEVEN_A_MINUTE)
    assert refusal.retry_after == pytest.approx(timedelta(seconds=60 / 7), abs=timedelta(0, 0, 2))


def test_a_batch_waits_until_all_of_it_may_come(tenant_a: Tenant) -> None:
    limit(tenant_a, rate_per_second=1, rate_burst=5)
    put(tenant_a, 5)
    refusal = refused(tenant_a, 3, now=at(1))
    assert refusal.retry_after == pytest.approx(timedelta(seconds=2), abs=timedelta(0, 0, 2))
    put(tenant_a, 3, now=at(3))


def test_a_batch_larger_than_the_burst_is_told_so(tenant_a: Tenant) -> None:
    limit(tenant_a, rate_per_second=1, rate_burst=5)
    refusal = refused(tenant_a, 6)
    assert (refusal.limit, refusal.allowed) == ("rate_burst", 5)
    assert str(refusal).startswith("6 tasks at once are more than")
    put(tenant_a, 5)


def test_a_batch_that_no_wait_will_make_fit_is_told_apart_from_one_that_may_fit_later(
    tenant_a: Tenant,
) -> None:
    limit(tenant_a, max_queued=3)
    put(tenant_a)
    never, later = refused(tenant_a, 4), refused(tenant_a, 3)
    assert (never.is_for_ever, later.is_for_ever) == (True, False)
    assert str(never).startswith("4 tasks at once are more than")
    assert str(later) == (
        "2 more tasks fit the tenant's max_queued of 3 now, and 3 were asked for;"
        " send fewer, or try again in 1 s."
    )


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"max_queued": 10}, "max_queued"),
        ({"rate_per_second": 0.001, "rate_burst": 10}, "rate_per_second"),
    ],
)
def test_as_many_as_a_refusal_says_are_left_are_taken(
    tenant_a: Tenant, limits: dict[str, float | None], told: str
) -> None:
    limit(tenant_a, **limits)
    put(tenant_a, 6)
    refusal = refused(tenant_a, 5)
    assert (refusal.limit, refusal.count, refusal.left) == (told, 5, 4)
    assert refused(tenant_a, 11).left == 4
    put(tenant_a, 4)
    refusal = refused(tenant_a)
    assert (refusal.limit, refusal.left) == (told, 0)
    assert str(refusal).startswith("The tenant is over its")


def test_a_limit_that_was_lowered_beneath_what_there_is_leaves_nothing(tenant_a: Tenant) -> None:
    put(tenant_a, 3)
    limit(tenant_a, max_queued=2)
    assert refused(tenant_a).left == 0


def test_what_was_refused_is_not_charged_to_the_rate(tenant_a: Tenant) -> None:
    limit(tenant_a, rate_per_second=1, rate_burst=1)
    put(tenant_a)
    for _ in range(10):
        refused(tenant_a, now=at(0.5))
    put(tenant_a, now=at(1))


def test_a_clock_set_back_an_hour_shuts_nobody_out_for_an_hour(tenant_a: Tenant) -> None:
    limit(tenant_a, rate_per_second=1, rate_burst=2)
    put(tenant_a, 2, now=at(3600))
    put(tenant_a, 2)
    refusal = refused(tenant_a)
    assert refusal.retry_after == pytest.approx(timedelta(seconds=1), abs=timedelta(0, 0, 2))


def test_a_debt_that_only_a_clock_set_back_explains_is_forgiven_to_whom_it_shuts_out(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    for tenant in (tenant_a, tenant_b):
        limit(tenant, rate_per_second=1, rate_burst=2)
        put(tenant, 2, now=at(3600))
    debt = Intake.objects.get(pk=tenant_b.pk).full_at
    put(tenant_a)
    assert Intake.objects.get(pk=tenant_b.pk).full_at == debt
