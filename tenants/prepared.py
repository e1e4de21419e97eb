"""Owns how the ORM's statement gets to PostgreSQL when it is one that is sent all the time.

Django writes the values into the text, so each is parsed and planned anew, which takes longer than it runs.
The ledger's own statements do not pass through Django, and need none of this.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper


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
