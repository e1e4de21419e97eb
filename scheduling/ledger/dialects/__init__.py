"""The hot statements of the ledger, one module per database behind one interface.

The verbs ask for what they need done; only these modules know which database does it.
"""

from functools import cache

from django.db import connection

from scheduling.ledger.dialects.interface import (
    Dialect,
    Ended,
    Ending,
    Head,
    LaneShare,
    Listener,
    Standing,
    Started,
    Tally,
    Token,
)

__all__ = [
    "Dialect",
    "Ended",
    "Ending",
    "Head",
    "LaneShare",
    "Listener",
    "Standing",
    "Started",
    "Tally",
    "Token",
    "dialect",
]


def dialect() -> Dialect:
    """The dialect of the database that the ledger is on. NotImplementedError for a third kind."""
    return _dialect_for(connection.vendor)


@cache
def _dialect_for(vendor: str) -> Dialect:
    if vendor == "sqlite":
        from scheduling.ledger.dialects.sqlite import SQLite

        return SQLite()
    if vendor == "postgresql":
        from scheduling.ledger.dialects.postgres import Postgres

        return Postgres()
    raise NotImplementedError(f"The ledger runs on SQLite and PostgreSQL, not on {vendor}.")
