"""`max_in_flight` while many claim at once: never exceeded by one, and nobody else held up."""

from collections import Counter
from functools import partial

import pytest

from scheduling.models import Lease, Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.ledger.kit import most_at_once
from tests.races.kit import flatten, many_at_once, put, say, take
from tests.races.processes import processes_at_once
from tests.races.work import drain_and_count

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

CAPPED, FREE = "capped", "free"
drain_all = partial(drain_and_count, CAPPED, FREE)
drain_free = partial(drain_and_count, FREE)


def fill(cap: int) -> None:
    capped = Tenant.objects.create(slug=CAPPED, max_in_flight=cap)
    free = Tenant.objects.create(slug=FREE, max_in_flight=None)
    for tenant in (capped, free):
        put(tenant, 30, queue="one")
        put(tenant, 30, queue="two")


def highest(records: list[Counter[str]], slug: str) -> int:
    return max(record[slug] for record in records)


@pytest.mark.parametrize("cap", [1, 3])
def test_eight_threads_never_exceed_the_cap(cap: int, db: None) -> None:
    fill(cap)
    records = flatten(many_at_once(8, drain_all))
    assert highest(records, CAPPED) == cap
    assert Task.objects.filter(state=TaskState.SUCCEEDED).count() == 120


@pytest.mark.parametrize("cap", [1, 3])
def test_four_processes_never_exceed_the_cap(cap: int, db: None) -> None:
    fill(cap)
    records = flatten(processes_at_once(4, drain_all))
    assert highest(records, CAPPED) == cap
    assert Task.objects.filter(state=TaskState.SUCCEEDED).count() == 120


@pytest.mark.parametrize("cap", [1, 3])
def test_a_tenant_at_its_cap_holds_nobody_else_up(cap: int, db: None) -> None:
    fill(cap)
    held = [claim for claim in take(2 * cap) if claim.tenant == CAPPED]
    assert len(held) == cap
    records = flatten(many_at_once(8, drain_free))
    assert {record[CAPPED] for record in records} == {cap}
    say(held)
    assert [claim.tenant for claim in take(2 * cap)] == [CAPPED] * cap
    assert Lease.objects.filter(tenant__slug=CAPPED).count() == cap


@pytest.mark.parametrize("cap", [1, 3])
def test_the_record_of_attempts_shows_no_more_than_the_cap_at_any_instant(
    cap: int, db: None
) -> None:
    fill(cap)
    many_at_once(8, drain_all)
    assert most_at_once(CAPPED) == cap
