"""How every connection to an SQLite ledger is set up."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

JOURNAL_SIZE_LIMIT = 64 * 1024 * 1024
"""Bytes the write-ahead log is cut back to after a checkpoint that emptied it."""

PRAGMAS = (
    "journal_mode = WAL",  # readers never wait for writers
    "synchronous = FULL",  # a commit is on disk before it returns: accepted means durable
    f"journal_size_limit = {JOURNAL_SIZE_LIMIT}",
    "mmap_size = 0",  # an I/O error is then an error, not a SIGBUS
    "temp_store = MEMORY",
)


def set_pragmas(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    if connection.vendor == "sqlite":
        for pragma in PRAGMAS:
            connection.connection.execute(f"PRAGMA {pragma}")


def connect() -> None:
    connection_created.connect(set_pragmas, dispatch_uid="scheduling.sqlite.pragmas")
