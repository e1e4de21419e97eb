"""The hot statements of the ledger, a room for each database behind one interface.

The verbs ask for what they need done; only these modules know which database does it.
"""

from collections.abc import Callable
from functools import cache
from threading import get_ident
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from scheduling.ledger.dialects.interface import Dialect, Listener
from scheduling.ledger.dialects.values import (
    FIGURES,
    Ending,
    Head,
    LaneShare,
    LeaseEnded,
    Reach,
    Serving,
    Standing,
    Started,
    Tally,
    Token,
    Usage,
)

__all__ = [
    "FIGURES",
    "Dialect",
    "Ending",
    "Head",
    "LaneShare",
    "LeaseEnded",
    "Listener",
    "Reach",
    "Serving",
    "Standing",
    "Started",
    "Tally",
    "Token",
    "Usage",
    "devote_this_thread",
    "dialect",
]


def dialect() -> Dialect:
    """The dialect of the database that the ledger is on. NotImplementedError for a third kind."""
    connection = connections[DEFAULT_DB_ALIAS]
    return _dialect_of(connection.vendor)(connection)


def devote_this_thread() -> None:
    """Tune what this thread connects from now on for the ledger: it is to speak to nothing else."""
    thread = get_ident()

    def tune(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
        if get_ident() == thread and connection.alias == DEFAULT_DB_ALIAS:
            _dialect_of(connection.vendor)(connection).devote()

    connection_created.connect(tune, weak=False, dispatch_uid="scheduling.ledger.dialects")


@cache
def _dialect_of(vendor: str) -> Callable[[BaseDatabaseWrapper], Dialect]:
    if vendor == "sqlite":
        from scheduling.ledger.dialects.sqlite.dialect import SQLite

        return SQLite
    if vendor == "postgresql":
        from scheduling.ledger.dialects.postgres.dialect import Postgres

        return Postgres
    raise NotImplementedError(f"The ledger runs on SQLite and PostgreSQL, not on {vendor}.")
