"""Pauses on top of each other: what several of them cover waits for all of them."""

from datetime import timedelta
from typing import Any

import pytest

from scheduling.models import Pause
from tenants.models import Tenant
from tests.ledger.kit import pause, put, resume, run_all, take_all

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


@pytest.mark.parametrize(
    ("wider", "narrower"),
    [
        ({}, {"queue": "default"}),
        ({}, {"name": "demo.echo"}),
        ({"queue": "default"}, {"queue": "default", "name": "demo.echo"}),
        ({"name": "demo.echo"}, {"queue": "default", "name": "demo.echo"}),
        ({"name": "demo.echo"}, {"queue": "default"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("first", ["wider", "narrower"])
def test_what_two_pauses_cover_waits_for_both_to_be_lifted(
    tenant_a: Tenant, wider: dict[str, Any], narrower: dict[str, Any], first: str
) -> None:
    ids = put(tenant_a, 2)
    pause(**wider)
    pause(**narrower)
    assert run_all(now=1) == set()
    lifted, standing = (wider, narrower) if first == "wider" else (narrower, wider)
    resume(**lifted, now=2)
    assert run_all(now=3) == set()
    resume(**standing, now=4)
    assert run_all(now=5) == set(ids)
    assert not Pause.objects.exists()


def test_lifting_one_tenants_pause_leaves_the_others_alone(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    of_a, of_b = put(tenant_a), put(tenant_b)
    pause(tenant=tenant_a)
    pause(tenant=tenant_b)
    take_all()
    resume(tenant=tenant_a, now=1)
    assert run_all(now=1) == set(of_a)
    resume(tenant=tenant_b, now=2)
    assert run_all(now=2) == set(of_b)


def test_a_tenant_cannot_lift_what_an_operator_paused(tenant_a: Tenant) -> None:
    ids = put(tenant_a)
    pause(tenant=tenant_a)
    receipt = resume(tenant=tenant_a, by="tenant-a", by_tenant=True, now=1)
    assert (receipt.paused, receipt.by) == (True, "operator")
    assert run_all(now=1) == set()
    resume(tenant=tenant_a, now=2)
    assert run_all(now=2) == set(ids)


def test_what_operator_and_tenant_paused_waits_for_both(tenant_a: Tenant) -> None:
    ids = put(tenant_a)
    pause(tenant=tenant_a, by="tenant-a", by_tenant=True)
    pause(tenant=tenant_a, duration=timedelta(seconds=10))
    assert run_all(now=11) == set()
    resume(tenant=tenant_a, by="tenant-a", by_tenant=True, now=12)
    assert run_all(now=12) == set(ids)


def test_an_operator_lifts_what_a_tenant_paused(tenant_a: Tenant) -> None:
    ids = put(tenant_a)
    pause(tenant=tenant_a, by="tenant-a", by_tenant=True)
    assert not resume(tenant=tenant_a, now=1).paused
    assert run_all(now=1) == set(ids)
