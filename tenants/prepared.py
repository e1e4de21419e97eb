"""Owns how a statement about the ORM's rows is sent and read when it is one that is sent all the time.

To PostgreSQL Django writes the values into the text, so each is parsed and planned anew, which takes longer than it
runs. The ledger's own statements do not pass through Django, and need none of this.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field


@contextmanager
def prepared(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Inside, values are sent apart from the text, and the server prepares what it is sent again.

    Changes nothing on SQLite, which keeps what it compiled by itself.
    """
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    driver: Any = connection.connection
    if not hasattr(driver, "cursor_factory"):
        yield
        return
    from psycopg import Cursor

    usual, driver.cursor_factory = driver.cursor_factory, Cursor
    try:
        yield
    finally:
        driver.cursor_factory = usual


def converted(value: Any, field: "Field[Any, Any]", connection: BaseDatabaseWrapper) -> Any:
    """A value of that column as its field has it, from what the driver made of it."""
    column = field.cached_col
    for convert in connection.ops.get_db_converters(column):
        value = convert(value, column, connection)
    for convert in column.get_db_converters(connection):
        value = convert(value, column, connection)
    return value
