"""Keeps the standard `sqlite3` module off files that `pysqlite3` has open in this process.

POSIX drops all of a process's locks on a file as soon as any descriptor of it is closed. Two copies of
the SQLite library do not know of each other, so the standard module closing "its" connection takes away the
locks under `pysqlite3`, and another process walks into the middle of a transaction.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Any
from urllib.parse import unquote, urlsplit

_guarded: set[str] = set()
_ours = local()
_installed = False


@contextmanager
def opening() -> Iterator[None]:
    """Around a connect of ours: `pysqlite3` raises the same audit event as the standard module."""
    _ours.opening = True
    try:
        yield
    finally:
        _ours.opening = False


def guard_against_the_standard_module(database: Any) -> None:
    """From now on the standard module cannot open this file in this process: RuntimeError."""
    global _installed
    _guarded.add(os.path.realpath(os.fspath(database)))
    if not _installed:
        _installed = True
        sys.addaudithook(_refuse)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if event != "sqlite3.connect" or getattr(_ours, "opening", False):
        return
    path = _path_of(os.fsdecode(args[0]))
    if os.path.realpath(path) in _guarded:
        raise RuntimeError(
            f"{path} is open through pysqlite3 in this process; opening it with the standard sqlite3 "
            "module as well would drop its locks. Use django.db.connection."
        )


def _path_of(database: str) -> str:
    """Of the file, whether it was named by a path or by a URI."""
    return unquote(urlsplit(database).path) if database.startswith("file:") else database
