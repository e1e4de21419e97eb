"""Tables that hold tasks already are changed without being written anew."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from scheduling.models import Task
from tenants.models import Tenant
from tests.ledger.kit import put

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
