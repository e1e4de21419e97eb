"""For whom a claim may find something, of many who would claim."""

import sys
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.ledger.dialects import Reach
from tenants.models import Tenant
from tests.ledger import kit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


@pytest.fixture(params=[200, 1])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Also when more lanes are ready than are looked at together."""
    module = sys.modules["scheduling.ledger.promising"]  # the package's name for it is the verb's
    monkeypatch.setattr(module, "MOST", request.param)
    return int(request.param)


def reach(tenant: Tenant | None, *queues: str) -> Reach:
    return ledger.reach_of(queues, tenant)


def test_whose_lanes_are_ready(most: int, tenant_a: Tenant, tenant_b: Tenant) -> None:
    kit.put(tenant_a, queue="films")
    fits = {reach(tenant_a, "films"), reach(None, "films", "mail")}
    others = {reach(tenant_b, "films"), reach(tenant_a, "mail"), reach(None, "mail")}
    assert ledger.promising(fits | others) == fits


def test_nobody_while_nothing_is_ready(most: int, tenant_a: Tenant) -> None:
    assert ledger.promising([reach(tenant_a, "films"), reach(None, "films")]) == set()


def test_nobody_of_a_tenant_at_its_cap(tenant_a: Tenant, tenant_b: Tenant) -> None:
    tenant_a.max_in_flight = 1
    tenant_a.save()
    kit.put(tenant_a, 2, queue="films")
    asked = [reach(tenant_a, "films"), reach(None, "films")]
    assert ledger.promising(asked) == set(asked)
    ledger.claim(uuid4(), limit=1, queues=["films"])
    assert ledger.promising(asked) == set()
