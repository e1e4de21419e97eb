"""A tenant's limits against callers that enqueue at the same instant: exact, and never exceeded."""

from functools import partial

import pytest
from django.db import DataError, transaction
from django.db.models import F

from scheduling import clock, ledger
from scheduling.errors import LimitExceeded
from scheduling.ledger import NewTask, admission
from scheduling.ledger.dialects import dialect
from scheduling.models import Intake, Task
from scheduling.states import UNFINISHED
from tenants.models import Tenant
from tests.races.kit import Session, at_once, flatten, many_at_once, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def enqueue(tenant: Tenant, count: int = 1) -> int:
    """How many were accepted: all of the batch, or none."""
    try:
        return len(ledger.enqueue([NewTask(tenant_id=tenant.pk, name="demo.echo")] * count))
    except LimitExceeded:
        return 0


def enqueue_often(tenant: Tenant, times: int, count: int = 1) -> int:
    return sum(enqueue(tenant, count) for _ in range(times))


def limit(tenant: Tenant, **limits: float | None) -> None:
    no_limits = {"max_queued": None, "rate_per_second": None, "max_in_flight": None}
    Tenant.objects.filter(pk=tenant.pk).update(**{**no_limits, **limits})


def test_eight_callers_fill_a_queue_to_its_limit_and_not_one_further(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    limit(tenant_a, max_queued=50)
    accepted = many_at_once(8, partial(enqueue_often, tenant_a, 20))
    assert sum(accepted) == Task.objects.count() == 50
    assert enqueue(tenant_b) == 1


def test_eight_callers_with_batches_never_exceed_the_limit_while_tasks_finish(
    tenant_a: Tenant,
) -> None:
    limit(tenant_a, max_queued=20)
    unfinished = Task.objects.filter(state__in=UNFINISHED)

    def enqueue_and_count() -> list[int]:
        counts = []
        for size in (1, 3, 7) * 5:
            with transaction.atomic():
                if enqueue(tenant_a, size):
                    counts.append(unfinished.count())
        return counts

    def finish() -> list[int]:
        for _ in range(60):
            say(take(4))
        return []

    counts = flatten(at_once(*[enqueue_and_count] * 8, finish))
    assert max(counts) <= 20
    assert len(counts) > 3, "nothing was freed by finishing"


def test_eight_callers_spend_a_burst_exactly_once(tenant_a: Tenant) -> None:
    limit(tenant_a, rate_per_second=0.001, rate_burst=30)
    accepted = many_at_once(8, partial(enqueue_often, tenant_a, 10))
    assert sum(accepted) == Task.objects.count() == 30


def test_eight_callers_with_batches_of_seven_spend_no_more_than_the_burst(
    tenant_a: Tenant,
) -> None:
    limit(tenant_a, rate_per_second=0.001, rate_burst=30)
    accepted = many_at_once(8, partial(enqueue_often, tenant_a, 2, 7))
    assert sum(accepted) == Task.objects.count() == 28


def hold_ledger(tenant: Tenant) -> None:
    """Until commit: all of it on SQLite, the tenant's counter on PostgreSQL."""
    Intake.objects.filter(pk=tenant.pk).update(accepted=F("accepted"))


def test_a_full_tenant_is_told_so_without_waiting_for_those_who_write(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=1)
    assert [enqueue(tenant_a), enqueue(tenant_a)] == [1, 0]
    with Session() as other, other.transaction():
        other.do(partial(hold_ledger, tenant_a))
        assert enqueue(tenant_a) == 0
        assert enqueue(tenant_a, 2) == 0


def test_a_place_that_is_being_taken_is_not_waited_for_in_vain(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=2)
    assert [enqueue(tenant_a) for _ in range(3)] == [1, 1, 0]
    say(take(1))
    with Session() as other, Session() as first:
        with other.transaction():
            other.do(partial(hold_ledger, tenant_a))
            taking = first.start_and_wait_for_a_lock(partial(enqueue, tenant_a))
            assert enqueue(tenant_a) == 0
        assert taking.result() == 1


def test_a_place_that_was_not_taken_after_all_is_free(tenant_a: Tenant) -> None:
    limit(tenant_a, max_queued=2)
    assert [enqueue(tenant_a) for _ in range(3)] == [1, 1, 0]
    say(take(1))
    with pytest.raises((OverflowError, DataError)):
        ledger.enqueue([NewTask(tenant_id=tenant_a.pk, name="demo.echo", priority=2**80)])
    assert enqueue(tenant_a) == 1


def test_a_try_that_never_ends_keeps_nobody_out_for_longer_than_a_second(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when an exception strikes its thread between any two steps."""
    limit(tenant_a, max_queued=2)
    assert [enqueue(tenant_a) for _ in range(3)] == [1, 1, 0]
    say(take(1))
    task = NewTask(tenant_id=tenant_a.pk, name="demo.echo")
    abandoned = admission.turn_to_try(dialect(), task, None)
    abandoned.__enter__()
    assert enqueue(tenant_a) == 0
    later = clock.monotonic() + admission.A_TRY_COUNTS
    monkeypatch.setattr(clock, "monotonic", lambda: later)
    assert enqueue(tenant_a) == 1
    abandoned.__exit__(None, None, None)
