"""The statement that every request begins with: prepared, and its connection's health check."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import psycopg
import pytest
from django.db import DataError, InternalError, OperationalError, connection, transaction

from tenants.first_read import rows
from tenants.models import ApiToken, Scope, Tenant

on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no server that could be gone."
)


def cut_off() -> None:
    """End this connection at the server, from another one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])


def asked_when_cut_off() -> None:
    cut_off()
    rows(connection, "SELECT 1", [])


@pytest.mark.django_db
def test_a_token_is_read_as_the_orm_reads_it(tenant_a: Tenant) -> None:
    for owner in (tenant_a, None):
        token, secret = ApiToken.objects.issue(tenant=owner, name="n", scopes=[Scope.READ])
        found = ApiToken.objects.with_secret(secret)
        assert found is not None
        read = ApiToken.objects.get(pk=token.pk)
        for field in ApiToken._meta.concrete_fields:
            assert getattr(found, field.attname) == getattr(read, field.attname), field
        assert found.owner == read.owner
        assert not found._state.adding


@pytest.mark.django_db
def test_no_token_opens_with_another_secret() -> None:
    _, secret = ApiToken.objects.issue(tenant=None)
    assert ApiToken.objects.with_secret(f"{secret}x") is None


@on_postgresql
@pytest.mark.django_db
def test_the_server_keeps_it_prepared() -> None:
    for _ in range(5):
        ApiToken.objects.with_secret("any")
    kept = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%tenants_apitoken%%'"
    assert rows(connection, kept, []) == [(1,)]


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_kept_is_asked_nothing_besides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection.ensure_connection()
    connection.close_if_unusable_or_obsolete()  # as when a request begins
    asked = []

    def is_usable() -> bool:
        asked.append("are you there?")
        return True

    monkeypatch.setattr(connection, "is_usable", is_usable)
    assert rows(connection, "SELECT 1", []) == [(1,)]
    assert Tenant.objects.count() == 0
    assert not asked


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_values_of_what_follows_are_put_in_by_django_as_ever() -> None:
    for divisor, outcome in ((1, nullcontext()), (0, pytest.raises(DataError))):
        with outcome:
            rows(connection, "SELECT 1 / %s", [divisor])
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL application_name = %s", ["any"])  # the server takes none


@on_postgresql
@pytest.mark.django_db(transaction=True)
class TestWhereTheServerIsGone:
    def test_it_is_asked_again_on_a_new_connection(self) -> None:
        _, secret = ApiToken.objects.issue(tenant=None)
        cut_off()
        assert ApiToken.objects.with_secret(secret)
        assert Tenant.objects.count() == 0  # and what follows goes by the new one

    def test_also_where_a_pooler_has_its_own_word_for_it(self) -> None:
        def in_its_words(execute: Callable[..., Any], *asked: Any) -> Any:
            try:
                return execute(*asked)
            except OperationalError as error:
                raise InternalError("the server is no longer there") from error

        cut_off()
        with connection.execute_wrapper(in_its_words):
            assert rows(connection, "SELECT 1", []) == [(1,)]

    def test_not_in_a_transaction_which_went_with_it(self) -> None:
        with pytest.raises(OperationalError), transaction.atomic():
            asked_when_cut_off()

    def test_who_cannot_connect_tries_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tries = []

        def refuse(parameters: object) -> None:
            tries.append(parameters)
            raise psycopg.OperationalError("connection refused")

        connection.close()
        monkeypatch.setattr(connection, "get_new_connection", refuse)
        with pytest.raises(OperationalError, match="connection refused"):
            rows(connection, "SELECT 1", [])
        assert len(tries) == 1

    def test_not_in_a_transaction_that_was_begun_without_atomic(self) -> None:
        connection.set_autocommit(False)
        try:
            with pytest.raises(OperationalError):
                asked_when_cut_off()
        finally:
            connection.close()
            connection.set_autocommit(True)

    def test_what_the_server_itself_refuses_is_asked_once(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE SEQUENCE asked")
        too_long = "SELECT pg_sleep(10) FROM (SELECT nextval('asked')) AS counted"
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET statement_timeout = 50")
            with pytest.raises(OperationalError):
                rows(connection, too_long, [])
            with connection.cursor() as cursor:
                cursor.execute("SET statement_timeout = 0")
            assert rows(connection, "SELECT last_value FROM asked", []) == [(1,)]
        finally:
            connection.close()
            with connection.cursor() as cursor:
                cursor.execute("DROP SEQUENCE asked")
