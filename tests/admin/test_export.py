"""Dead letters as files: complete, and inert wherever they are opened."""

import csv
import json

import pytest
from django.test import Client

from scheduling.admin import export
from scheduling.admin.export import neutral
from scheduling.models import OperatorAction
from tenants.models import Tenant
from tests.admin.conftest import SignIn
from tests.admin.kit import DEAD_LETTERS, bury, put

pytestmark = pytest.mark.ledger


def file(client: Client, name: str) -> str:
    answer = client.get(f"{DEAD_LETTERS}{name}")
    assert answer.status_code == 200
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def test_a_spreadsheet_gets_one_line_for_each(operator: Client, tenant_a: Tenant) -> None:
    ids = bury(tenant_a, 3, idempotency_key=None)
    put(tenant_a)
    rows = list(csv.DictReader(file(operator, "export.csv").splitlines()))
    assert [row["id"] for row in rows] == [str(task_id) for task_id in reversed(ids)]
    assert {(row["tenant"], row["error_class"], row["reason"]) for row in rows} == {
        ("tenant-a", "ValueError", "permanent_failure")
    }


def test_a_program_gets_the_same(operator: Client, tenant_a: Tenant) -> None:
    bury(tenant_a, 2)
    rows = json.loads(file(operator, "export.json"))
    assert len(rows) == 2
    assert set(rows[0]) == set(export.COLUMNS)
    assert json.loads(file(operator, "export.json?tenant=nobody")) == []


def test_filters_and_chunks_are_obeyed(
    operator: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "CHUNK", 2)
    monkeypatch.setattr(export, "MOST", 3)
    wanted = bury(tenant_a, 4, name="invoices.send")
    bury(tenant_a, 3)
    rows = json.loads(file(operator, "export.json?name=invoices.send"))
    assert [row["id"] for row in rows] == [str(task_id) for task_id in wanted[:0:-1]]


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\uff1d1"]
)
def test_what_a_spreadsheet_would_run_is_text(
    operator: Client, tenant_a: Tenant, cell: str
) -> None:
    bury(tenant_a, name=cell, message=cell, label=cell)
    (row,) = csv.DictReader(file(operator, "export.csv").splitlines(keepends=True))
    assert row["name"].startswith("'")
    assert row["error_message"].startswith("'")
    assert row["label"].startswith("'")


def test_other_cells_are_left_alone() -> None:
    assert [neutral(value) for value in ("a-b", "1=1", "", 7, None)] == ["a-b", "1=1", "", 7, None]


def test_markup_in_json_is_no_markup(operator: Client, tenant_a: Tenant) -> None:
    hostile = "<script>alert(1)</script>&amp;"
    bury(tenant_a, message=hostile)
    text = file(operator, "export.json")
    assert "<" not in text
    assert json.loads(text)[0]["error_message"] == hostile


def test_it_is_on_record(operator: Client, tenant_a: Tenant) -> None:
    file(operator, "export.csv?tenant=tenant-a")
    action = OperatorAction.objects.get()
    assert (action.verb, action.what) == ("export", "dead letters with tenant=tenant-a")


def test_who_may_not_look_gets_nothing(sign_in: SignIn) -> None:
    assert sign_in("view_group").get(f"{DEAD_LETTERS}export.csv").status_code == 403


def test_there_is_no_other_kind(operator: Client) -> None:
    assert operator.get(f"{DEAD_LETTERS}export.xls").status_code == 404
