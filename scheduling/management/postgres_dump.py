"""Owns how a ledger on PostgreSQL is dumped: by `pg_dump`, which whoever runs PostgreSQL has."""

import os
import shutil
import subprocess  # nosec B404  # pg_dump
from pathlib import Path

from django.db import DatabaseError, connection

LIBPQ = ("host", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey")


def dump_ledger(target: Path) -> None:
    """Write a dump in the custom format, of one instant. DatabaseError says what `pg_dump` said."""
    _run(
        "pg_dump", "--format=custom", f"--file={target}", "--no-password", f"--dbname={conninfo()}"
    )


def require_listing(dump: Path) -> None:
    """Raises DatabaseError unless `pg_restore` can read what is in the dump, and finds the tasks there."""
    if " TABLE DATA public scheduling_task " not in _run("pg_restore", "--list", str(dump)):
        raise DatabaseError("The dump does not hold the ledger's tasks.")


def conninfo() -> str:
    """Where the ledger is, without the password: what is said on a command line others can read."""
    from psycopg.conninfo import make_conninfo

    known = connection.get_connection_params()
    return make_conninfo(**{name: known[name] for name in LIBPQ if known.get(name)})


def _run(program: str, *arguments: str) -> str:
    if shutil.which(program) is None:
        raise DatabaseError(
            f"{program} is not on PATH. Install PostgreSQL's client programs of the server's version, or run "
            "`pg_dump --format=custom` where they are"
        )
    password = connection.get_connection_params().get("password")
    environment = os.environ | ({"PGPASSWORD": str(password)} if password else {})
    done = subprocess.run(  # nosec B603  # no shell
        [program, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise DatabaseError(said[-1])
    return done.stdout
