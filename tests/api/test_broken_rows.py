"""Rows that somebody broke by hand are shown as far as they can be read, and hide no others."""

from datetime import timedelta

import pytest
from django.db import connection

from scheduling import clock, ledger
from scheduling.ledger.recurring.form import EDITABLE
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


@pytest.mark.parametrize(
    "value", ["{", "", "NaN,", '{"a": NaN}', '["\\ud800"]', "[" * 100_000, '"a text"', "7"], ids=len
)
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


BROKEN = {
    "payload": ["{", "", "[" * 100_000, "7", '{"a": NaN}', '{"a": "\\ud800"}'],
    "cron": ["", "* * *", "\uff15 * * * *", "7"],
    "every_seconds": ["soon", "-1", "9" * 18, "1.5"],
    "timezone": ["", "Mars/Base", "7"],
    "starts_at": ["soon", "7"],
    "next_at": ["soon", "9999-12-31 23:59:59"],
    "overlap": ["sometimes", ""],
    "declaration": ["{"],
    "fires_at": ["2020-01-01 00:00:00", "soon"],
    "catchup": ["never"],
    "jitter_seconds": ["-5", "soon"],
    "catchup_window_seconds": ["soon"],
    "priority": ["high"],
    "pause_after_failures": ["soon"],
}


@pytest.mark.parametrize(
    ("column", "value"),
    [(column, value) for column, values in BROKEN.items() for value in values],
    ids=lambda text: text[:20],
)
def test_a_broken_recurring_task_is_shown_hinders_no_other_and_can_be_mended(
    api_a: Api, column: str, value: str
) -> None:
    whole = {"name": "nightly", "task_name": "demo.echo", "cron": "30 2 * * *"}
    address = api_a.post("/v1/recurring-tasks", whole)["Location"]
    overwrite("recurringtask", column, value)
    assert len(api_a.get("/v1/recurring-tasks").json()["recurring_tasks"]) == 1
    shown = api_a.get(address)
    assert shown.status_code == 200, shown.content
    assert api_a.get(f"{address}/preview").status_code in (200, 400)
    assert api_a.get(f"{address}/ticks").status_code == 200

    sound = api_a.post("/v1/recurring-tasks", whole | {"name": "sound"})["Location"]
    ledger.fire_due(now=clock.now() + timedelta(days=2))
    assert api_a.get(f"{sound}/ticks?outcome=fired").json()["ticks"]

    shown = api_a.get(address)
    mend = dict.fromkeys(BROKEN.keys() & EDITABLE) | {"cron": "0 3 * * *"}
    mended = api_a.send("PATCH", address, mend, if_match=shown["ETag"])
    assert mended.status_code == 200, mended.content
    assert mended.json()["in_words"] == "At 03:00"
