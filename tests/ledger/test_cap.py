"""`max_in_flight`: an invariant, exceeded by nobody, and in nobody else's way."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.ledger.values import Claim, Release, Snooze, Succeed
from tenants.models import Tenant
from tests.ledger.kit import START, at, failing, put, run, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def cap(tenant: Tenant, most: int | None) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(max_in_flight=most)


def reap(claims: list[Claim]) -> None:
    ledger.reap(ledger.held_leases(claims[0].worker), now=START)


@pytest.mark.parametrize("most", [1, 2, 7])
def test_no_claim_gets_more_than_the_cap(tenant_a: Tenant, most: int) -> None:
    cap(tenant_a, most)
    put(tenant_a, 10)
    assert len(take(10)) == most
    assert take(10) == []


def test_many_small_claims_get_no_more_than_the_cap(tenant_a: Tenant) -> None:
    cap(tenant_a, 3)
    put(tenant_a, 10)
    assert [len(take()) for _ in range(5)] == [1, 1, 1, 0, 0]


def test_the_cap_holds_over_all_lanes_of_the_tenant(tenant_a: Tenant) -> None:
    cap(tenant_a, 2)
    for queue in "abcd":
        put(tenant_a, 5, queue=queue)
    claims = take(20)
    assert len(claims) == 2
    assert take(20, queues=["c"]) == []
    assert len({claim.queue for claim in claims}) == 2


@pytest.mark.parametrize("kind", ["every queue", "some queues", "one tenant"])
def test_the_cap_counts_all_that_runs_of_the_tenant_and_of_nobody_else(
    tenant_a: Tenant, tenant_b: Tenant, kind: str
) -> None:
    """Whatever kind of worker asks."""
    reaches: dict[str, dict[str, Any]] = {
        "every queue": {},
        "some queues": {"queues": ["default", "other"]},
        "one tenant": {"queues": ["default"], "tenant": tenant_a},
    }
    reach = reaches[kind]
    put(tenant_b, 5)
    take(5)
    cap(tenant_a, 3)
    put(tenant_a, 6)
    claims = take(2, **reach)
    assert [len(claims), len(take(6, **reach)), len(take(6, **reach))] == [2, 1, 0]
    run(claims[:1])
    assert len(take(6, **reach)) == 1


@pytest.mark.parametrize(
    "end",
    [
        lambda claims: say(claims, Succeed()),
        lambda claims: say(claims, failing()),
        lambda claims: say(claims, failing(retry_in=None)),
        lambda claims: say(claims, Snooze(timedelta(seconds=60))),
        lambda claims: say(claims, Release()),
        reap,
    ],
    ids=["success", "failure", "death", "snooze", "release", "reap"],
)
def test_every_end_of_an_attempt_makes_room_for_the_next(
    tenant_a: Tenant, end: Callable[[list[Claim]], object]
) -> None:
    cap(tenant_a, 2)
    put(tenant_a, 6)
    claims = take(2)
    assert take(2) == []
    end(claims)
    assert len(take(3)) == 2


def test_a_request_to_cancel_makes_no_room_before_the_handler_has_ended(tenant_a: Tenant) -> None:
    cap(tenant_a, 1)
    put(tenant_a, 2)
    (claim,) = take()
    ledger.cancel([claim.task_id], now=START)
    assert take() == []
    say(claim, ledger.Stop())
    assert len(take()) == 1


def test_a_cap_that_was_raised_holds_at_once(tenant_a: Tenant) -> None:
    cap(tenant_a, 1)
    put(tenant_a, 5)
    take()
    cap(tenant_a, 3)
    assert len(take(5)) == 2


def test_a_cap_that_was_lifted_holds_nobody(tenant_a: Tenant) -> None:
    cap(tenant_a, 1)
    put(tenant_a, 5)
    take()
    cap(tenant_a, None)
    assert len(take(5)) == 4


def test_a_cap_that_was_lowered_starts_nothing_until_the_surplus_has_ended(
    tenant_a: Tenant,
) -> None:
    put(tenant_a, 6)
    claims = take(3)
    cap(tenant_a, 2)
    assert take(5) == []
    run(claims[:1])
    assert take(5) == []
    run(claims[1:2])
    assert len(take(5)) == 1


def test_a_capped_tenant_leaves_the_other_slots_to_others(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    cap(tenant_a, 1)
    put(tenant_a, 50)
    put(tenant_b, 50)
    claims = take(8)
    assert [claim.tenant for claim in claims].count("tenant-a") == 1
    assert len(claims) == 8


def test_a_tenant_over_a_lowered_cap_hides_nobody_behind_its_lanes(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    for queue in range(40):
        put(tenant_a, queue=f"{queue}")
    claims = take(20)
    cap(tenant_a, 1)
    (of_b,) = put(tenant_b)
    assert run(take(2)) == [of_b]
    run(claims)


def test_a_capped_tenant_with_many_lanes_hides_nobody(tenant_a: Tenant, tenant_b: Tenant) -> None:
    cap(tenant_a, 1)
    for queue in range(40):
        put(tenant_a, queue=f"{queue}")
    of_b = put(tenant_b, 3)
    claims = take_until_told_there_is_no_more(16)
    assert {claim.task_id for claim in claims if claim.tenant == "tenant-b"} == set(of_b)
    assert len(claims) == 4


def take_until_told_there_is_no_more(limit: int) -> list[Claim]:
    claims: list[Claim] = []
    contended = True
    while contended and len(claims) < limit:
        found = ledger.claim(uuid4(), limit=limit - len(claims), now=START)
        claims += found.claims
        contended = found.contended
    return claims


def test_five_waiting_tasks_run_one_after_the_other_once_the_killer_is_dead(
    tenant_a: Tenant,
) -> None:
    cap(tenant_a, 1)
    (killer,) = put(tenant_a, max_attempts=1, priority=1)
    waiting = put(tenant_a, 5)
    assert [claim.task_id for claim in take(6)] == [killer]
    ledger.reap(ledger.held_leases(), now=at(11))
    assert [run(take(6, now=at(12)), now=at(12)) for _ in waiting] == [[pk] for pk in waiting]
