"""Rows that somebody broke by hand are shown as far as they can be read, and hide no others."""

import pytest
from django.db import connection

from tenants.models import Tenant
from tests.api.kit import Api
from tests.ledger.kit import failing, put, say, take

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor != "sqlite",
        reason="PostgreSQL keeps nothing in a column that is not of its type.",
    ),
]


def overwrite(table: str, column: str, value: str) -> None:
    """In every row, in SQL, past every constraint."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        cursor.execute(f"UPDATE scheduling_{table} SET {column} = %s", [value])  # noqa: S608
        cursor.execute("PRAGMA ignore_check_constraints = OFF")


@pytest.mark.parametrize("value", ["{", "", "NaN,", "[" * 100_000, '"a text"', "7"], ids=len)
@pytest.mark.parametrize("column", ["args", "kwargs", "result", "error"])
def test_a_task_with_broken_json_is_listed_and_shown(
    api_a: Api, tenant_a: Tenant, column: str, value: str
) -> None:
    (task_id,) = put(tenant_a)
    say(take(), failing())
    overwrite("task", column, value)
    overwrite("attempt", "error", value)
    assert [task["id"] for task in api_a.get("/v1/tasks").json()["tasks"]] == [str(task_id)]
    shown = api_a.get(f"/v1/tasks/{task_id}")
    assert (shown.status_code, shown.json()["id"]) == (200, str(task_id))


@pytest.mark.parametrize("value", ["soon", "2027-02-30 00:00:00", "7"])
def test_a_task_with_a_broken_instant_is_listed_and_shown(
    api_a: Api, tenant_a: Tenant, value: str
) -> None:
    (task_id,) = put(tenant_a)
    overwrite("task", "created_at", value)
    overwrite("schedule", "due_at", value)
    assert [task["id"] for task in api_a.get("/v1/tasks").json()["tasks"]] == [str(task_id)]
    shown = api_a.get(f"/v1/tasks/{task_id}").json()
    assert (shown["created_at"], shown["due_at"]) == (None, None)
