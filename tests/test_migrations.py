"""Tables that hold tasks already are changed without being written anew, and beside whoever works on them."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, models
from django.db.migrations import (
    AddConstraint,
    AddField,
    AddIndex,
    AlterField,
    CreateModel,
    DeleteModel,
    Migration,
    RemoveField,
    RunPython,
)
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from config import databases
from scheduling import tables
from scheduling.models import Task
from tenants.management.plain import Wrong
from tenants.models import Tenant
from tests.ledger.kit import put
from tests.races.kit import Session

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

PLACES = {
    "sqlite": "SELECT rootpage FROM sqlite_schema WHERE name = 'scheduling_task'",
    "postgresql": "SELECT pg_relation_filenode('scheduling_task')",
}


def migrate(name: str | None = None) -> None:
    """To that one, or to the newest."""
    executor = MigrationExecutor(connection)
    nodes = executor.loader.graph.leaf_nodes("scheduling")
    executor.migrate([("scheduling", name)] if name else nodes)


def place() -> int:
    """Where the table of tasks is kept. One that is written anew is kept elsewhere."""
    with connection.cursor() as cursor:
        cursor.execute(PLACES[connection.vendor])
        return int(cursor.fetchone()[0])


@pytest.fixture
def up_to_date_after() -> Iterator[None]:
    yield
    migrate()


@pytest.mark.usefixtures("up_to_date_after")
def test_tasks_that_are_there_get_no_label_and_stay_where_they_are(tenant_a: Tenant) -> None:
    put(tenant_a, 3)
    migrate("0014_sweeps_by_workers")
    before = place()
    migrate()
    assert place() == before
    assert list(Task.objects.values_list("label", flat=True)) == [None] * 3
    put(tenant_a, label="order 4711")
    assert Task.objects.filter(label="order 4711").count() == 1


SLOW = {"default", "db_default", "unique", "db_index"}
"""Options with which a table is written anew, or an index made, while others wait."""


def only_adds(operations: Sequence[Operation]) -> bool:
    """Whether older code need not know of it, and nobody waits while it is done.

    It writes no column that may not be NULL, and reads none that it does not know.
    """
    new_tables = {one.name_lower for one in operations if isinstance(one, CreateModel)}

    def adds(operation: Operation) -> bool:
        match operation:
            case CreateModel():
                return True
            case AddField(field=field):
                said = field.deconstruct()[3]
                return said.get("null", False) and not (field.is_relation or SLOW & said.keys())
            case AddIndex() | AddConstraint():
                return operation.model_name_lower in new_tables
            case _:
                return False

    return all(adds(operation) for operation in operations)


@pytest.mark.parametrize("app", tables.OURS)
def test_migrations_that_are_called_so_only_expand(app: str) -> None:
    migrations = MigrationLoader(None).disk_migrations
    ours = {name: one.operations for (of, name), one in migrations.items() if of == app}
    assert ours
    misnamed = {
        name for name, done in ours.items() if tables.EXPANDS.match(name) and not only_adds(done)
    }
    assert misnamed == set()


NEW = CreateModel("Note", [("id", models.BigAutoField(primary_key=True))])
EXPANDING = "9999_expand_task_note"
ADDED = AddField("task", "note", models.TextField(null=True))


@pytest.mark.parametrize(
    ("operations", "may"),
    [
        ([NEW, ADDED], True),
        ([NEW, AddIndex("note", models.Index(fields=["id"], name="note_id"))], True),
        ([AddIndex("task", models.Index(fields=["name"], name="task_note"))], False),
        ([AddField("task", "note", models.TextField())], False),
        ([AddField("task", "note", models.TextField(null=True, default="none"))], False),
        ([AddField("task", "note", models.TextField(null=True, unique=True))], False),
        ([AddField("task", "note", models.ForeignKey("task", models.CASCADE, null=True))], False),
        ([AddField("task", "notes", models.ManyToManyField("note"))], False),
        ([AlterField("task", "name", models.TextField(null=True))], False),
        ([ADDED, RemoveField("task", "label")], False),
        ([DeleteModel("Task")], False),
        ([ADDED, RunPython(RunPython.noop)], False),
    ],
)
def test_what_expanding_is(operations: list[Operation], may: bool) -> None:
    assert only_adds(operations) == may


@pytest.fixture
def newer_release(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Has a migration that adds a column. Undo the patch, and it is this code again."""
    leaves = MigrationLoader(None).graph.leaf_nodes("scheduling")
    newer = type("Newer", (Migration,), {"dependencies": leaves, "operations": [ADDED]})
    load_disk = MigrationLoader.load_disk

    def load_one_more(self: Any) -> None:
        load_disk(self)
        self.disk_migrations["scheduling", EXPANDING] = newer(EXPANDING, "scheduling")

    patch = partial(monkeypatch.setattr, MigrationLoader, "load_disk", load_one_more)
    patch()
    yield monkeypatch
    patch()
    migrate(leaves[0][1])


def test_what_is_to_be_changed_can_be_had_without_changing_it(
    newer_release: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        call_command("migrate", plan=True, check_unapplied=True)
    assert f"scheduling.{EXPANDING}" in capsys.readouterr().out
    with pytest.raises(tables.TablesDiffer, match="not up to date"):
        tables.require_fit()


def test_this_code_goes_on_beside_a_newer_one_that_only_added(
    newer_release: pytest.MonkeyPatch, tenant_a: Tenant
) -> None:
    migrate()
    newer_release.undo()
    tables.require_fit()
    call_command("migrate", verbosity=0)
    put(tenant_a, 2)
    assert Task.objects.count() == 2
    call_command("checkledger")


@pytest.mark.usefixtures("newer_release")
def test_a_table_that_somebody_holds_is_given_up_before_all_others_wait_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = connection.settings_dict
    with Session() as other, monkeypatch.context() as impatient:
        impatient.setitem(here, "OPTIONS", {**here["OPTIONS"]})
        databases.wait_no_longer_than(0.2, here)
        connection.close()
        with other.transaction():
            other.do(Task.objects.count)
            with pytest.raises(Wrong, match="Somebody holds a table"):
                migrate_by_command()
    connection.close()
    migrate_by_command()
    tables.require_fit()


def migrate_by_command() -> None:
    call_command("migrate", verbosity=0)
