"""Owns how the database is emptied after a test that commits: by deleting the few rows that it left.

Django truncates all tables, and makes all permissions anew; that took longer than most of the tests.
"""

from django.db import connection, transaction
from django.test import TransactionTestCase

PERMANENT = {"django_content_type", "auth_permission"}
"""What there is follows from the code alone."""


def empty(_: TransactionTestCase) -> None:
    """In place of `TransactionTestCase._fixture_teardown`."""
    empty_now()


def empty_now() -> None:
    """One transaction, in which rows go in any order."""
    tables = set(connection.introspection.django_table_names()) - PERMANENT
    with transaction.atomic(), connection.cursor() as cursor:
        for table in sorted(tables):
            name = connection.ops.quote_name(table)
            cursor.execute(f"DELETE FROM {name}")  # noqa: S608  # none of these is made up
