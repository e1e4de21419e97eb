"""What a page of the console reads does not grow with the history there is, nor with the dead letters."""

import pytest
from django.db import connection
from django.test import Client

from scheduling import sweeps
from scheduling.audit import Actor, Via
from scheduling.ledger.values import Fail, Failure
from scheduling.lists import letters, paging
from scheduling.models import Sweep
from tenants.models import Tenant
from tests.admin.conftest import operator
from tests.admin.kit import DEAD_LETTERS, TASKS, page
from tests.ledger.kit import put, run, say, take, take_all
from tests.plans.test_backlogs import FEW, MANY, cost_of, unlimited

__all__ = ["operator", "unlimited"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

PAGES = [
    TASKS,
    *(
        f"{TASKS}?{query}"
        for query in (
            "state=queued",
            "state=running",
            "state=dead",
            "state=succeeded&name=demo.rare",
            "tenant=tenant-a&queue=rare",
            "q=nothing-has-this-key",
            "label=rare&state=dead",
            "q=01a229f8-4aec-7962-85eb-42786c506b3a",
            "error=KeyError",
            "created_after=2100-01-01T00:00",
        )
    ),
    DEAD_LETTERS,
    *(
        f"{DEAD_LETTERS}?{query}"
        for query in (
            "name=demo.rare",
            "error=KeyError",
            "tenant=tenant-a",
            "q=rare",
            "queue=rare",
            "label=rare",
        )
    ),
    f"{DEAD_LETTERS}redrive-all/?error=KeyError",
]
UNLUCKY = Fail(Failure("ValueError", "no luck"), None)


@pytest.mark.usefixtures("unlimited")
def test_a_page_of_a_large_ledger_costs_what_one_of_a_small_one_does(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, bound in ((paging, "WALK"), (letters, "MOST_COUNTED"), (sweeps, "WALK")):
        monkeypatch.setattr(module, bound, FEW)
    monkeypatch.setattr(paging, "ENOUGH", 0)
    going = sweeps.begin(
        Sweep.Operation.REDRIVE,
        {"name": "demo.rare"},
        which="rare ones",
        by=Actor("ana", Via.CONSOLE),
    )

    def costs() -> dict[str, int]:
        (waiting,) = put(tenant_a, queue="page")
        addresses = [*PAGES, page(waiting), f"{DEAD_LETTERS}sweeps/{going.pk}/"]
        step = {"a step": cost_of(lambda: sweeps.step(going.pk))}
        return step | {
            address.replace(str(waiting), "waiting"): cost_of(lambda at=address: see(operator, at))  # type: ignore[misc]
            for address in addresses
        }

    fill(tenant_a, FEW)
    small = costs()
    fill(tenant_a, MANY)
    large = costs()
    grown = {
        address: (small[address], cost)
        for address, cost in large.items()
        if cost > 3 * small[address] + 2000
    }
    assert not grown


def fill(tenant: Tenant, count: int) -> None:
    put(tenant, count)
    run(take_all())
    put(tenant, count)
    say(take(count), UNLUCKY)
    put(tenant, count // 2)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def see(client: Client, address: str) -> None:
    assert client.get(address).status_code == 200, address
