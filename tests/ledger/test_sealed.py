"""A ledger that is sealed, because it moves: nothing is written, and everybody is told why."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.db import OperationalError, connection

from scheduling import ledger
from scheduling.ledger.moving import tables
from scheduling.ledger.moving.seal import sealed
from scheduling.ledger.moving.source import Source
from scheduling.models import Task
from tenants.models import ApiToken, Tenant
from tests.api.kit import Api, problem
from tests.ledger.kit import put

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="A source is on SQLite."),
]

SECRET = "a-token-of-tenant-a"


@pytest.fixture
def sealed_ledger(tenant_a: Tenant) -> Iterator[Tenant]:
    """With a task and a token of tenant A in it."""
    put(tenant_a)
    ApiToken.objects.issue(tenant=tenant_a, secret=SECRET)
    ledger.pause(by="operator")
    with Source() as source:
        source.seal("postgres://there/ledger")
        yield tenant_a
        source.unseal()
    assert sealed() is None
    put(tenant_a)


def test_nothing_is_accepted(sealed_ledger: Tenant) -> None:
    for count in (1, 2):
        with pytest.raises(OperationalError, match="it moves to postgres://there/ledger"):
            put(sealed_ledger, count)
    assert Task.objects.count() == 1


def test_clients_are_told_to_try_again_and_load_balancers_to_go_elsewhere(
    sealed_ledger: Tenant,
) -> None:
    api_a = Api(SECRET)
    answer = api_a.post("/v1/tasks", {"name": "demo.echo"})
    assert problem(answer) == (503, "unavailable")
    assert int(answer["Retry-After"]) >= 1
    ready = api_a.get("/readyz")
    assert problem(ready) == (503, "unavailable")
    assert "takes no writes, because it moves" in ready.json()["detail"]
    assert "postgres://" not in answer.content.decode() + ready.content.decode()
    assert api_a.get("/v1/tasks").status_code == 200


def test_every_table_is_sealed(sealed_ledger: Tenant) -> None:
    with connection.cursor() as cursor:
        for table in tables.sealed_tables():
            cursor.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608
            ((rows,),) = cursor.fetchall()
            if rows:
                with pytest.raises(OperationalError, match="takes no writes"):
                    cursor.execute(f'DELETE FROM "{table}"')  # noqa: S608


def test_every_model_moves_or_is_left_out_for_a_reason() -> None:
    moving = {table.model for table in tables.moving_tables()}
    others = {model._meta.label_lower for model in tables.kept_models() if model not in moving}
    assert others == set(tables.LEFT_OUT)
    assert all(tables.LEFT_OUT.values())
    assert {model._meta.label_lower for model in moving} >= tables.FILLED_BY_MIGRATE
    names = {table.name for table in tables.moving_tables()}
    columns = {
        f"{table.name}.{one.name}" for table in tables.moving_tables() for one in table.columns
    }
    assert names | columns >= tables.NOTED_IN_PASSING


def test_a_worker_waits_for_it_as_for_a_ledger_that_does_not_answer(sealed_ledger: Tenant) -> None:
    with pytest.raises(OperationalError):
        ledger.register(ledger.Registration(id=uuid4()))
