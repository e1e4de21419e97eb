"""Owns how the database is emptied after a test that commits: by deleting the few rows that it left.

Django truncates all tables, and makes all permissions anew; that took longer than most of the tests.
"""

from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.test import TransactionTestCase

PERMANENT = {"django_content_type", "auth_permission"}
"""What there is follows from the code alone."""
GROWN = 512 * 1024
"""Bytes of a table of PostgreSQL's. Rows that are deleted stay in it until they are vacuumed, which nobody does here."""


def empty(_: TransactionTestCase) -> None:
    """In place of `TransactionTestCase._fixture_teardown`."""
    empty_now()


def empty_now() -> None:
    """One transaction, in which rows go in any order."""
    tables = sorted(set(connection.introspection.django_table_names()) - PERMANENT)
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cut_back(cursor, tables)
        for table in tables:
            cursor.execute(f"DELETE FROM {quoted(table)}")  # noqa: S608  # none of these is made up


def cut_back(cursor: CursorWrapper, tables: list[str]) -> None:
    """Begin tables anew that have grown, unless somebody is at one of them: then the next test may."""
    cursor.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname = ANY(%s) AND pg_relation_size(oid) > %s",
        [tables, GROWN],
    )
    grown = [name for (name,) in cursor.fetchall()]
    if not grown:
        return
    try:
        with transaction.atomic():
            all_tables = ", ".join(map(quoted, tables))
            cursor.execute(f"LOCK TABLE {all_tables} IN ACCESS EXCLUSIVE MODE NOWAIT")
            cursor.execute(f"TRUNCATE {', '.join(map(quoted, grown))} CASCADE")
    except OperationalError as error:
        if "could not obtain lock" not in str(error):
            raise


def quoted(table: str) -> str:
    return connection.ops.quote_name(table)
