"""The lists of workers and of lanes."""

import pytest
from django.test import Client

from tenants.models import Tenant
from tests.admin.kit import ago, put, text_of, worker
from tests.ledger.kit import take

pytestmark = pytest.mark.ledger


def test_each_worker_shows_how_busy_it_is(operator: Client, tenant_a: Tenant) -> None:
    process = worker(slots=4)
    put(tenant_a, 3)
    take(3, worker=process.pk)
    assert "all 3 / 4" in text_of(operator.get("/admin/scheduling/workerprocess/"))


def test_a_silent_worker_is_marked(operator: Client) -> None:
    worker(seen=ago(minutes=5))
    assert "5 min ago · silent" in text_of(operator.get("/admin/scheduling/workerprocess/"))


def test_a_worker_that_speaks_is_not_marked(operator: Client) -> None:
    worker(seen=ago(seconds=5))
    assert "silent" not in text_of(operator.get("/admin/scheduling/workerprocess/"))


def test_lanes_are_listed_by_tenant(operator: Client, tenant_a: Tenant, tenant_b: Tenant) -> None:
    put(tenant_b, queue="mail")
    put(tenant_a, queue="reports")
    lanes = text_of(operator.get("/admin/scheduling/lane/"))
    assert lanes.index("tenant-a reports ready") < lanes.index("tenant-b mail ready")
