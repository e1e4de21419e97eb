"""Owns how the statement that comes first in every request is sent, and how its rows are read.

To PostgreSQL Django writes the values into the text, so each is parsed and planned anew, which takes longer than it
runs; and before the first it asks the server whether it is there, which takes as long again. The ledger's own
statements do not pass through Django, and need none of this.
"""

from collections.abc import Sequence
from typing import Any

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field


def rows(connection: BaseDatabaseWrapper, statement: str, values: Sequence[Any]) -> list[Any]:
    """What a statement that only reads finds. Raises what the driver does, as errors of Django's.

    On PostgreSQL it is prepared by the server, and is the health check of a connection that was kept: where that was cut,
    it is sent again on a new one, unless a transaction went with it. SQLite keeps what it compiled by itself, and its check costs
    next to nothing.
    """
    if connection.vendor != "postgresql":
        return _found(connection, statement, values)
    is_kept = connection.connection is not None
    if not is_kept or not connection.autocommit:
        return _prepared(connection, statement, values)
    connection.health_check_done = True  # type: ignore[attr-defined]  # unknown to the stubs
    try:
        return _prepared(connection, statement, values)
    except Error:  # poolers do not agree on which
        if connection.is_usable():
            raise
    connection.close()
    return _prepared(connection, statement, values)


def _prepared(connection: BaseDatabaseWrapper, statement: str, values: Sequence[Any]) -> list[Any]:
    """Values go apart from the text, so that the server keeps the plan of what it is sent again."""
    from psycopg import Cursor

    connection.ensure_connection()
    driver = connection.connection
    usual, driver.cursor_factory = driver.cursor_factory, Cursor
    try:
        return _found(connection, statement, values)
    finally:
        driver.cursor_factory = usual


def _found(connection: BaseDatabaseWrapper, statement: str, values: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def converted(value: Any, field: "Field[Any, Any]", connection: BaseDatabaseWrapper) -> Any:
    """A value of that column as its field has it, from what the driver made of it."""
    column = field.cached_col
    for convert in connection.ops.get_db_converters(column):
        value = convert(value, column, connection)
    for convert in column.get_db_converters(connection):
        value = convert(value, column, connection)
    return value
