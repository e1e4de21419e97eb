"""Owns how a wait for somebody else's lock that ran out is told from other trouble with the database."""

from django.db import OperationalError

LOCK_NOT_AVAILABLE = "55P03"
"""PostgreSQL's SQLSTATE. SQLite has words only: "database is locked"."""


def ran_out(error: OperationalError) -> bool:
    """Whether the database was well, and another transaction held what this one needed for too long."""
    sqlstate = getattr(error.__cause__, "sqlstate", None)
    return sqlstate == LOCK_NOT_AVAILABLE or "database is locked" in str(error)
