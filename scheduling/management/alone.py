"""Owns that one process at a time changes the tables, however many start at once."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from django.db import connection

if TYPE_CHECKING:
    from scheduling.sqlite.base import DatabaseWrapper

SETUP_LOCK = 0x52_45_4E_54  # any number that every process agrees on


@contextmanager
def alone() -> Iterator[None]:
    """Hold the only right to set up this ledger; others wait, and a killed holder lets go. Not to be nested."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout TO 0")  # as long as the other's migrations take
            cursor.execute("SELECT pg_advisory_lock(%s)", [SETUP_LOCK])
            cursor.execute("RESET lock_timeout")  # of tables others want to have something as well
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [SETUP_LOCK])
    elif cast("DatabaseWrapper", connection).is_in_memory_db():  # nobody else can be there
        yield
    else:
        ledger = Path(connection.settings_dict["NAME"])
        with ledger.with_name("migrate.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
