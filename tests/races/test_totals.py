"""Minutes move into totals while others move them too, and while somebody reads."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.ledger import totals
from scheduling.ledger.values import Claim
from scheduling.models import Throughput, Total
from tenants.models import Tenant
from tests.ledger.kit import at
from tests.races.kit import at_once, many_at_once, put, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

MINUTES, CROWD = 60, 4


@pytest.fixture(autouse=True)
def minutes(tenant_a: Tenant, tenant_b: Tenant) -> None:
    Throughput.objects.bulk_create(
        Throughput(tenant=tenant, minute=at(60 * n), succeeded=n, run_seconds=n / 2)
        for tenant in (tenant_a, tenant_b)
        for n in range(MINUTES)
    )


def move_all() -> int:
    return sum(iter(lambda: ledger.prune_throughput(before=at(86_400), limit=7), 0))


def successes() -> Iterator[float]:
    return (figures["succeeded"] for figures in totals.read().values())


def test_each_minute_moves_once_however_many_move_them() -> None:
    before = totals.read()
    assert sum(many_at_once(CROWD, move_all)) == 2 * MINUTES
    assert totals.read() == before
    assert not Throughput.objects.exists()
    assert set(Total.objects.values_list("succeeded", flat=True)) == {sum(range(MINUTES))}


def test_who_reads_meanwhile_sees_each_minute_once() -> None:
    def read_some() -> int:
        seen = {value for _ in range(20) for value in successes()}
        assert seen == {sum(range(MINUTES))}
        return 0

    assert sum(at_once(move_all, read_some, move_all, read_some)) == 2 * MINUTES


def test_refusals_of_many_at_once_all_count(tenant_a: Tenant) -> None:
    put(tenant_a, CROWD)
    claims = take(CROWD)
    say(claims)
    stale = [strangers(claim) for claim in claims]
    at_once(*(partial(say, [claim]) for claim in stale))
    assert totals.read()[tenant_a.pk]["refused"] == CROWD


def strangers(claim: Claim) -> Claim:
    """The same in the hands of somebody who never had it."""
    return replace(claim, worker=uuid4())
