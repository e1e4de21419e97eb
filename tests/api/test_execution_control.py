"""`/v1/execution-control`: who may stop what, and what the switch says afterwards."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from scheduling import clock, ledger
from scheduling.models import Pause
from tenants.models import ApiToken, Scope, Tenant
from tests.api.kit import Api, faults, problem
from tests.ledger import kit

pytestmark = [pytest.mark.django_db, pytest.mark.ledger]

ADDRESS = "/v1/execution-control"


def switch(api: Api, address: str = ADDRESS, **body: Any) -> dict[str, Any]:
    answer = api.put(address, body)
    assert answer.status_code == 200, answer.content
    receipt: dict[str, Any] = answer.json()
    return receipt


def claimed() -> list[UUID]:
    """What a worker gets now."""
    return [claim.task_id for claim in ledger.claim(uuid4(), limit=9).claims]


def test_nothing_is_paused_at_first(api_a: Api) -> None:
    assert api_a.get(ADDRESS).json() == {
        "paused": False,
        "scope": "tenant=tenant-a",
        "reason": "",
        "by": None,
        "since": None,
        "expires_at": None,
        "in_flight": 0,
    }


def test_a_tenant_stops_and_resumes_its_own_tasks(
    api_a: Api, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    [of_a], [of_b] = (kit.put(tenant, now=clock.now()) for tenant in (tenant_a, tenant_b))
    receipt = switch(api_a, paused=True, reason="deploy")
    assert (receipt["paused"], receipt["scope"]) == (True, "tenant=tenant-a")
    assert receipt["reason"] == "deploy"
    assert receipt["by"].startswith("tenant-a (token ")
    assert api_a.get(ADDRESS).json() == receipt
    assert claimed() == [of_b]
    assert switch(api_a, paused=False)["paused"] is False
    assert not api_a.get(ADDRESS).json()["paused"]
    assert claimed() == [of_a]


def test_the_operator_stops_everything_or_what_it_names(operator: Api, tenant_a: Tenant) -> None:
    named = {"tenant": "tenant-a", "queue": "mail", "name": "demo.echo"}
    assert switch(operator, paused=True)["scope"] == "everything"
    assert (
        switch(operator, paused=True, **named)["scope"]
        == "tenant=tenant-a queue=mail name=demo.echo"
    )
    assert Pause.objects.count() == 2


def test_a_scope_in_the_query_counts_as_one_in_the_body(operator: Api) -> None:
    assert switch(operator, f"{ADDRESS}?queue=mail", paused=True)["scope"] == "queue=mail"
    assert switch(operator, f"{ADDRESS}?queue=mail", paused=True, queue="mail")["paused"]
    contrary = operator.put(f"{ADDRESS}?queue=mail", {"paused": True, "queue": "sms"})
    assert faults(contrary).keys() == {"queue"}


def test_a_pause_can_end_by_itself(operator: Api) -> None:
    receipt = switch(operator, paused=True, for_seconds=600)
    since, expires_at = map(datetime.fromisoformat, (receipt["since"], receipt["expires_at"]))
    assert (expires_at - since).total_seconds() == 600


def test_what_runs_is_counted_and_finishes(operator: Api, tenant_a: Tenant) -> None:
    kit.put(tenant_a)
    claims = kit.take()
    assert switch(operator, paused=True, tenant="tenant-a")["in_flight"] == 1
    assert len(kit.say(claims, ledger.Succeed()).settled) == 1


def test_a_tenant_under_the_operators_pause_learns_why_and_nothing_else(
    api_a: Api, operator: Api, tenant_b: Tenant
) -> None:
    kit.put(tenant_b)
    kit.take()
    switch(operator, paused=True, reason="the disk is nearly full")
    seen = api_a.get(ADDRESS).json()
    assert (seen["paused"], seen["reason"]) == (True, "the disk is nearly full")
    assert (seen["by"], seen["in_flight"]) == ("operator", None)
    assert switch(api_a, paused=False)["paused"] is True


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "paused"),
        ({"paused": "no"}, "paused"),
        ({"paused": 0}, "paused"),
        ({"paused": None}, "paused"),
        ({"paused": True, "reason": "r" * 501}, "reason"),
        ({"paused": True, "reason": 5}, "reason"),
        ({"paused": True, "for_seconds": 0}, "for_seconds"),
        ({"paused": True, "for_seconds": -5}, "for_seconds"),
        ({"paused": True, "for_seconds": 1e18}, "for_seconds"),
        ({"paused": True, "for_seconds": "soon"}, "for_seconds"),
        ({"paused": True, "for_seconds": "600"}, "for_seconds"),
        ({"paused": True, "for_seconds": True}, "for_seconds"),
        ({"paused": False, "for_seconds": 5}, "for_seconds"),
        ({"paused": True, "queue": ""}, "queue"),
        ({"paused": True, "queue": None}, "queue"),
        ({"paused": True, "queue": "q" * 101}, "queue"),
        ({"paused": True, "name": "n" * 201}, "name"),
        ({"paused": True, "tenant": "nobody"}, "tenant"),
        ({"paused": True, "tennant": "tenant-a"}, "tennant"),
    ],
)
def test_a_switch_that_cannot_be_is_refused_and_nothing_is_paused(
    operator: Api, body: dict[str, Any], field: str
) -> None:
    assert faults(operator.put(ADDRESS, body)).keys() == {field}
    assert not Pause.objects.exists()


def test_a_misspelt_scope_is_never_taken_for_everything(operator: Api) -> None:
    assert faults(operator.put(f"{ADDRESS}?tennant=a", {"paused": True})).keys() == {"tennant"}
    assert faults(operator.get(f"{ADDRESS}?tennant=a")).keys() == {"tennant"}
    assert not Pause.objects.exists()


def test_a_tenant_cannot_stop_another(api_a: Api, tenant_b: Tenant) -> None:
    assert problem(api_a.put(ADDRESS, {"paused": True, "tenant": "tenant-b"})) == (
        403,
        "wrong-tenant",
    )
    assert problem(api_a.get(f"{ADDRESS}?tenant=tenant-b")) == (403, "wrong-tenant")
    assert not Pause.objects.exists()


def test_stopping_needs_the_scope_to_control(tenant_a: Tenant) -> None:
    others = [scope for scope in Scope if scope != Scope.CONTROL]
    api = Api(ApiToken.objects.issue(tenant=tenant_a, scopes=others)[1])
    assert problem(api.put(ADDRESS, {"paused": True})) == (403, "missing-scope")
    assert api.get(ADDRESS).status_code == 200


def test_a_tenant_cannot_lift_what_the_operator_paused_for_it(
    api_a: Api, operator: Api, tenant_a: Tenant
) -> None:
    kit.put(tenant_a, now=clock.now())
    switch(operator, paused=True, tenant="tenant-a", reason="abuse")
    switch(api_a, paused=True, reason="deploy", for_seconds=1)

    receipt = switch(api_a, paused=False)

    assert (receipt["paused"], receipt["reason"]) == (True, "abuse")
    assert claimed() == []
    switch(operator, paused=False, tenant="tenant-a")
    assert len(claimed()) == 1


def test_the_operator_lifts_what_a_tenant_paused_as_well(
    api_a: Api, operator: Api, tenant_a: Tenant
) -> None:
    kit.put(tenant_a, now=clock.now())
    switch(api_a, paused=True)
    assert not switch(operator, paused=False, tenant="tenant-a")["paused"]
    assert len(claimed()) == 1
