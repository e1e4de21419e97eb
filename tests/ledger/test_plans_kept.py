"""PostgreSQL plans a hot statement once and keeps the plan: to plan it takes longer than to run it."""

import pytest
from django.db import connection

from tenants.models import Tenant
from tests.ledger.kit import put

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's driver keeps them all."),
]


def test_a_statement_sent_again_and_again_is_prepared(tenant_a: Tenant) -> None:
    for _ in range(5):
        put(tenant_a)
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        kept = [statement for (statement,) in cursor.fetchall()]
    assert any("INSERT INTO scheduling_task" in statement for statement in kept)
