"""Owns how an SQLite ledger is copied while it is in use, and how the copy is looked at.

The copy is of one instant: a read transaction holds it from the first page to the last, so commits that come
meanwhile neither wait nor begin the copy anew, as they would without it. What they write stays in the
write-ahead log until the copy is done, and the log is cut back after that.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pysqlite3
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections

from scheduling.sqlite.base import DatabaseWrapper
from scheduling.sqlite.guard import opening

STEP = 1024
"""Pages (4 MiB) between two calls of `progress`."""
SIDE_FILES = ("-wal", "-shm", "-journal", "-gate")
"""What SQLite, or our gate, may leave beside a file."""

Progress = Callable[[int, int], None]
"""Is told how many pages are copied, and of how many. What it raises ends the copy."""


def copy_ledger(target: Path, progress: Progress) -> None:
    """Copy the ledger into an empty file. DatabaseError when either of them cannot be read or written."""
    ours = connections[DEFAULT_DB_ALIAS]
    ours.ensure_connection()
    source = ours.connection
    with ours.wrap_database_errors, opening(), closing(pysqlite3.connect(target)) as copy:
        copy.execute("PRAGMA synchronous = OFF")  # whoever asked for it syncs it as a whole
        source.execute("BEGIN DEFERRED")
        try:
            source.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()  # the instant
            source.backup(copy, pages=STEP, progress=_counting(progress), sleep=0)
        finally:
            source.execute("ROLLBACK")


def require_whole(path: Path) -> None:
    """Raises DatabaseError unless every page and index of the file is as it should be."""
    with reading(path), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("PRAGMA integrity_check(1)")
        (finding,) = cursor.fetchone()
    if finding != "ok":
        raise DatabaseError(f"the copy is damaged: {finding.splitlines()[-1]}")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """In this thread, read from that file as if it were the ledger."""
    ours = connections[DEFAULT_DB_ALIAS]
    settings = {**ours.settings_dict, "NAME": str(path)}
    connections[DEFAULT_DB_ALIAS] = DatabaseWrapper(settings, DEFAULT_DB_ALIAS)
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS].close()
        connections[DEFAULT_DB_ALIAS] = ours


def remove_side_files(path: Path) -> None:
    for suffix in SIDE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def has_log(path: Path) -> bool:
    """Whether a write-ahead log lies beside, which SQLite would take for that of the file."""
    return os.path.exists(f"{path}-wal")  # noqa: PTH110  # the file itself need not exist


def _counting(progress: Progress) -> Callable[[int, int, int], None]:
    def tell(status: int, remaining: int, total: int) -> None:
        progress(total - remaining, total)

    return tell
