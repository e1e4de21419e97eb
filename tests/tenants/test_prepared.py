"""Statements of the ORM that PostgreSQL is told to prepare."""

import pytest
from django.db import connection

from tenants.models import Tenant
from tenants.prepared import prepared

pytestmark = pytest.mark.django_db


def is_there(slug: str) -> bool:
    return Tenant.objects.filter(slug=slug).exists()


def statements_kept() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%tenants_tenant%'"
        )
        (count,) = cursor.fetchone()
    return int(count)


def test_it_answers_the_same(tenant_a: Tenant) -> None:
    with prepared(connection):
        assert is_there(tenant_a.slug)
        assert not is_there("nobody")


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps what it compiled.")
def test_the_server_keeps_what_it_is_sent_again_inside_and_nothing_else(tenant_a: Tenant) -> None:
    before = statements_kept()
    for _ in range(5):
        is_there(tenant_a.slug)
    assert statements_kept() == before
    with prepared(connection):
        for _ in range(5):
            is_there(tenant_a.slug)
    assert statements_kept() == before + 1
