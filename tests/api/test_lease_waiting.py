"""Claims that wait for work. What comes in comes right before somebody looks for it."""

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from socket import socket, socketpair
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError
from pytest_django import Settings

from scheduling import ledger
from scheduling.api.v1.until_found import Line, Waiter
from scheduling.api.v1.waiting import is_there
from scheduling.ledger.dialects import Reach
from tenants.models import Tenant
from tests.api.kit import Api, problem
from tests.api.remote import claim, put
from tests.waiting import until

MANY = 8

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.ledger,
    pytest.mark.usefixtures("remote_queues"),
]


def test_work_that_comes_in_meanwhile_ends_it(
    api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_look(monkeypatch, lambda: put(tenant_a))
    assert len(claim(api_a, wait=30)["tasks"]) == 1


def test_it_ends_with_nothing_when_the_time_is_over(api_a: Api) -> None:
    assert claim(api_a, wait=0.01)["tasks"] == []


def test_one_too_many_is_answered_at_once(
    api_a: Api, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"WEB_WAITERS": 0}
    before_look(monkeypatch, lambda: put(tenant_a))
    assert claim(api_a, wait=30)["tasks"] == []


def test_a_task_goes_to_who_came_first_and_the_others_do_not_try(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = counted_claims(monkeypatch)
    line = Line()
    with ThreadPoolExecutor(MANY) as pool:
        waiting = []
        for number in range(MANY):
            waiting.append(pool.submit(line.until_found, waiter_for(tenant_a), 30, {}))
            until(lambda number=number: len(line._waiting) == number + 1)  # type: ignore[misc]
        put(tenant_a, 3)
        assert all(len(one.result(20).claims) == 1 for one in waiting[:3])
        assert len(claims) <= 3 + 1, "one finds that there is nothing left"
        assert len(line._waiting) == MANY - 3
        put(tenant_a, MANY - 3)
        assert all(len(one.result(20).claims) == 1 for one in waiting[3:])


def test_nothing_is_claimed_for_a_client_that_hung_up(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = socketpair()

    def leave() -> None:
        theirs.close()
        put(tenant_a)

    claims = counted_claims(monkeypatch)
    before_look(monkeypatch, leave)
    with ours:
        assert Line().until_found(waiter_for(tenant_a, ours), 30, {}).claims == []
    assert claims == []


def test_what_goes_wrong_with_one_is_told_to_that_one(tenant_a: Tenant) -> None:
    def fail() -> ledger.Claims:
        raise OperationalError("no turn to write")

    reach = ledger.reach_of(["films"], tenant_a)
    line, broken = Line(), Waiter(reach, fail, None)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(line.until_found, broken, 30, {})
        until(lambda: line._waiting)
        put(tenant_a)
        assert len(line.until_found(waiter_for(tenant_a), 30, {}).claims) == 1
        with pytest.raises(OperationalError, match="no turn"):
            first.result(20)


def test_without_a_ledger_to_look_at_it_is_answered_503(
    api_a: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OperationalError("It does not answer.")

    before_look(monkeypatch, fail)
    answer = api_a.post("/v1/leases", {"wait": 30})
    assert problem(answer) == (503, "unavailable")


def test_one_that_sends_its_next_request_already_is_still_there() -> None:
    ours, theirs = socketpair()
    with ours, theirs:
        theirs.send(b"POST")
        assert is_there(ours)
        assert ours.recv(4) == b"POST"
        theirs.close()
        assert not is_there(ours)


def waiter_for(tenant: Tenant, client: socket | None = None) -> Waiter:
    def claim_one() -> ledger.Claims:
        return ledger.claim(uuid4(), limit=1, queues=["films"], tenant=tenant)

    return Waiter(ledger.reach_of(["films"], tenant), claim_one, client)


def before_look(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something before somebody looks for those who wait, once."""
    plain, left = ledger.promising, [act]

    def look(reaches: Collection[Reach]) -> set[Reach]:
        while left:
            left.pop()()
        return plain(reaches)

    monkeypatch.setattr(ledger, "promising", look)


def counted_claims(monkeypatch: pytest.MonkeyPatch) -> list[ledger.Claims]:
    """Those that there are from now on."""
    claims: list[ledger.Claims] = []
    plain = ledger.claim

    def note_and_claim(*args: Any, **options: Any) -> ledger.Claims:
        claims.append(plain(*args, **options))
        return claims[-1]

    monkeypatch.setattr(ledger, "claim", note_and_claim)
    return claims
