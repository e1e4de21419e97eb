"""What a page of tasks reads does not grow with the history there is, however rare what is asked for."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from scheduling import clock, ledger
from scheduling.lists import paging
from tenants.models import ApiToken, Tenant
from tests.ledger.kit import failing, put, run, say, take, take_all
from tests.plans.test_backlogs import FEW, MANY, cost_of, unlimited

__all__ = ["unlimited"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

YESTERDAY, TOMORROW = (clock.now() + timedelta(days=days) for days in (-400, 400))
QUERIES: list[dict[str, Any]] = [
    {},
    {"state": "succeeded", "name": "demo.rare"},
    {"state": "queued", "queue": "rare"},
    {"state": "scheduled"},
    {"state": "retrying"},
    {"state": "running"},
    {"state": "dead"},
    {"state": "cancelled"},
    {"name": "demo.rare"},
    {"key": "rare"},
    {"label": "rare"},
    {"finished_after": TOMORROW.isoformat()},
    {"finished_before": YESTERDAY.isoformat()},
    {"created_after": TOMORROW.isoformat()},
]
OF_A_LABEL: list[dict[str, Any]] = [
    {"label": "nightly"},
    {"label": "nightly", "state": "succeeded"},
    {"label": "nightly", "state": "dead"},
    {"label": "nightly", "name": "demo.rare"},
]
ENOUGH_TO_ORDER = 5_000
"""PostgreSQL would rather sort less than this, to which nobody who waits for it objects."""


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("is_operator", [False, True], ids=["tenant", "operator"])
def test_a_page_of_a_long_history_costs_what_one_of_a_short_one_does(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch, is_operator: bool
) -> None:
    monkeypatch.setattr(paging, "WALK", FEW)
    monkeypatch.setattr(paging, "ENOUGH", 0)
    _, secret = ApiToken.objects.issue(tenant=None if is_operator else tenant_a)
    client = Client(headers={"Authorization": f"Bearer {secret}"})

    def costs() -> list[int]:
        return [cost_of(lambda query=query: page(client, query)) for query in QUERIES]  # type: ignore[misc]

    fill(tenant_a, FEW)
    small = costs()
    fill(tenant_a, MANY)
    large = costs()
    grown = {
        str(query): (before, after)
        for query, before, after in zip(QUERIES, small, large, strict=True)
        if after > 3 * before + 1000
    }
    assert not grown


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("is_operator", [False, True], ids=["tenant", "operator"])
def test_what_is_not_over_fills_its_page_however_much_is_newer(
    tenant_a: Tenant, tenant_b: Tenant, monkeypatch: pytest.MonkeyPatch, is_operator: bool
) -> None:
    """Finished tasks of its tenant, and tasks of another that wait."""
    monkeypatch.setattr(paging, "WALK", FEW)
    monkeypatch.setattr(paging, "ENOUGH", 0)
    _, secret = ApiToken.objects.issue(tenant=None if is_operator else tenant_a)
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    now = clock.now()
    put(tenant_a, 4, queue="rare", now=now)
    say(take(2, queues=["rare"], now=now), failing(retry_in=timedelta(hours=1)), now=now)
    take(1, queues=["rare"], now=now)
    put(tenant_a, 3, queue="rare", due_at=now + timedelta(hours=1), now=now)
    put(tenant_a, 2 * FEW, queue="later", due_at=now + timedelta(hours=1), now=now)
    put(tenant_a, MANY, now=now)
    run(take(MANY, queues=["default"], now=now), now=now)
    put(tenant_b, 2 * FEW, now=now)
    counts = {"scheduled": 3, "retrying": 2, "running": 1, "queued": 6}
    for state, count in counts.items():
        query: dict[str, Any] = {"state": state, "queue": "rare", "limit": 2}
        first = client.get("/v1/tasks", query).json()
        assert len(first["tasks"]) == min(count, 2), state
        assert bool(first["next"]) is (count > 2), state
    query = {"state": "scheduled", "queue": "later", "limit": 2}
    said = client.get("/v1/tasks", query).json()
    assert (len(said["tasks"]), bool(said["next"])) == (2, True)
    if not is_operator:
        ledger.cancel(put(tenant_a, now=now), now=now)
        put(tenant_a, 2 * FEW, now=now)
        said = client.get("/v1/tasks", {"state": "cancelled"}).json()
        assert (len(said["tasks"]), said["next"]) == (1, None)
    query = {"state": "scheduled", "queue": "rare", "name": "demo.rare"}
    said = client.get("/v1/tasks", query).json()
    assert said == {"tasks": [], "next": None}


@pytest.mark.usefixtures("unlimited")
def test_a_label_leads_to_its_tasks_however_many_have_it_and_however_old_they_are(
    tenant_a: Tenant, tenant_b: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "WALK", FEW)
    monkeypatch.setattr(paging, "ENOUGH", 0)
    secrets = [ApiToken.objects.issue(tenant=tenant)[1] for tenant in (tenant_a, None)]
    clients = [Client(headers={"Authorization": f"Bearer {secret}"}) for secret in secrets]

    def costs() -> list[int]:
        return [
            cost_of(lambda client=client, query=query: page(client, query))  # type: ignore[misc]
            for client in clients
            for query in OF_A_LABEL
        ]

    def fill_labelled(count: int) -> None:
        put(tenant_a, count, label="nightly")
        put(tenant_b, count, label="nightly")
        put(tenant_a, count)
        vacuum()

    fill_labelled(FEW)
    small = costs()
    fill_labelled(ENOUGH_TO_ORDER)
    large = costs()
    assert not [pair for pair in zip(small, large, strict=True) if pair[1] > 3 * pair[0] + 1000]


def fill(tenant: Tenant, count: int) -> None:
    put(tenant, count)
    run(take_all())
    put(tenant, count // 2)
    analyze()


def analyze() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def vacuum() -> None:
    """As PostgreSQL does by itself once enough was inserted: it then reads ids from an index alone."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM scheduling_task")
    analyze()


def page(client: Client, query: dict[str, Any]) -> None:
    answer = client.get("/v1/tasks", {"limit": 10, **query})
    assert answer.status_code == 200, answer.content
