"""Keeps what a handler left in its database connections from the next one, and from the settlement.

Left behind may be an open transaction, a changed session, a broken connection, or the connections of
threads that the handler started and that have ended. A handler that never touched the database costs
next to nothing here.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread, current_thread, local, main_thread
from typing import Any

from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

CHANGES_SESSION = re.compile(
    r"\A\s*+(?!select|insert|update|delete|with|values|savepoint|release|rollback to|explain)"
    r"|set_config|advisory_(?!xact)",
    re.IGNORECASE,
)
"""SQL that may outlive its transaction: settings, pragmas, temporary tables, locks of the session."""


IDLE = 0
"""PQTRANS_IDLE: no transaction, by PostgreSQL's own client. Its Python driver need not be there."""


class _Thread(local):
    tended = False
    """Whether this thread clears its own connections after each handler."""
    connected = False
    """Whether it ever had any."""


@dataclass(frozen=True, slots=True, eq=False)
class Stray:
    """A connection of a thread that nobody tends."""

    thread: Thread
    connection: BaseDatabaseWrapper


_this_thread = _Thread()
_strays: list[Stray] = []
_strays_lock = Lock()


def watch_connections() -> None:
    """Once per worker process, before any handler runs."""
    connection_created.connect(_opened, dispatch_uid="scheduling.workers.leftovers")


def tend_this_thread() -> None:
    """Promise that `clear` is called in this thread after each handler."""
    _this_thread.tended = True


def are_elsewhere() -> bool:
    """Whether handlers opened connections in threads that are not tended."""
    return bool(_strays)


def clear() -> None:
    """Leave this thread's connections as good as new, and close those of threads that have ended."""
    if not (_this_thread.connected or _strays):
        return
    for connection in connections.all(initialized_only=True):
        _clear(connection)
    if _strays:
        _close_strays()


def _opened(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    thread = current_thread()
    if thread is main_thread():
        return  # the pool's own
    _this_thread.connected = True
    if _note_changes not in connection.execute_wrappers:
        connection.execute_wrappers.append(_note_changes)
    if not _this_thread.tended:
        with _strays_lock:
            _strays.append(Stray(thread, connection))


def _note_changes(execute: Any, sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:  # noqa: FBT001  # Django's signature
    if CHANGES_SESSION.search(str(sql)):
        context["connection"].session_changed = True
    return execute(sql, params, many, context)


def _clear(connection: BaseDatabaseWrapper) -> None:
    if not _is_spoilt(connection):
        with suppress(Error):
            connection.close_if_unusable_or_obsolete()
            return
    _discard(connection)


def _is_spoilt(connection: BaseDatabaseWrapper) -> bool:
    return (
        connection.in_atomic_block
        or connection.closed_in_transaction
        or getattr(connection, "session_changed", False)
        or _has_hidden_transaction(connection)
    )


def _has_hidden_transaction(connection: BaseDatabaseWrapper) -> bool:
    """One begun on the driver's own connection, past Django. It would hold the others up, or swallow what
    the next handler writes."""
    driver = connection.connection
    if driver is None:
        return False
    match connection.vendor:
        case "postgresql":
            return bool(driver.info.transaction_status != IDLE)
        case "sqlite":
            with (
                suppress(Error),
                connection.wrap_database_errors,
            ):  # it was closed past Django as well
                return bool(driver.in_transaction)
    return False  # others cannot be asked


def _discard(connection: BaseDatabaseWrapper) -> None:
    """Roll back by closing. The next handler gets a new wrapper, since no state of this one is to be trusted."""
    del connections[connection.alias]
    with suppress(Error):  # a broken connection may fail to close; it is let go of either way
        connection.close()


def _close_strays() -> None:
    with _strays_lock:
        ended = [stray for stray in _strays if not stray.thread.is_alive()]
        _strays[:] = [stray for stray in _strays if stray.thread.is_alive()]
    for stray in ended:
        stray.connection.inc_thread_sharing()  # its thread is gone, so there is nobody to share with
        with suppress(Error):
            stray.connection.close()
