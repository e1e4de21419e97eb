"""A process that has used its connection and then forks: nobody speaks on another one's connection."""

import pytest
from django.db import connection

from scheduling.models import Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.races.kit import put
from tests.races.processes import processes_at_once
from tests.races.work import query_and_fork

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_children_forked_after_a_query_open_connections_of_their_own(tenant_a: Tenant) -> None:
    put(tenant_a, 500)
    assert processes_at_once(1, query_and_fork) == [[0, 0, 0, 0]]
    assert Task.objects.filter(state=TaskState.SUCCEEDED, generation=1).count() == 500
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA integrity_check")
            assert cursor.fetchall() == [("ok",)]
