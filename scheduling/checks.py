"""System checks: what would make the ledger lie, found at start-up."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

Version = tuple[int, int, int]

FIXED_IN: tuple[Version, ...] = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""Releases in which the WAL-reset race was mended: two maintenance branches, then all that followed."""

ENGINE = "scheduling.sqlite"
MODE = "IMMEDIATE"

LEDGER = "ledger"
"""The tag of checks that workers do not start without, whatever they are told to skip."""

LOOKS = 3
"""Other clients of a busy pool may come in between; not every time."""


def loses_committed_pages(version: Version) -> bool:
    """Whether that SQLite can lose a committed page when a checkpoint races a reset of the log."""
    if version >= FIXED_IN[-1]:
        return False
    return not any(version[:2] == fixed[:2] and version >= fixed for fixed in FIXED_IN)


@register(LEDGER)
def sqlite_is_safe(**kwargs: Any) -> list[CheckMessage]:
    """Asks nothing of the database, so that every `manage.py check` tells."""
    ledger = connections[DEFAULT_DB_ALIAS]
    return problems_of(ledger) if ledger.vendor == "sqlite" else []


@register(Tags.database)
def sessions_are_our_own(
    databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    return [
        Error(
            f"A pooler stands between Rentroll and PostgreSQL, and {problem}.",
            hint="Workers are woken, and statements prepared, in sessions that last. Connect to "
            "PostgreSQL itself, or a pool that keeps sessions (pool_mode=session).",
            id="scheduling.E004",
        )
        for alias in databases or ()
        if alias == DEFAULT_DB_ALIAS
        and connections[alias].vendor == "postgresql"
        and (problem := problem_of_pooler(connections[alias]))
    ]


def problem_of_pooler(connection: BaseDatabaseWrapper) -> str | None:
    """Found when another client is given the session of one that is connected and idle.

    None also when PostgreSQL does not answer: who needs it next will tell.
    """
    import psycopg

    params = connection.get_connection_params()
    try:
        with (
            psycopg.connect(**params, autocommit=True) as idle,
            psycopg.connect(**params, autocommit=True) as other,
        ):
            if any(session_of(idle) == session_of(other) for _ in range(LOOKS)):
                return "gives each transaction another session"
    except psycopg.Error as error:
        if "unsupported startup parameter" in str(error):
            return "refuses the settings of its sessions"
    return None


def session_of(client: Any) -> int:
    """The process of the server that serves the client at this moment."""
    ((process,),) = client.execute("SELECT pg_backend_pid()", prepare=False)
    return int(process)


def problems_of(connection: Any) -> list[CheckMessage]:
    engine = connection.settings_dict["ENGINE"]
    if engine != ENGINE:
        return [
            Error(
                f"The ledger needs its own SQLite engine, not {engine}.",
                hint=f'Set ENGINE to "{ENGINE}": it makes writers queue and commits durable.',
                id="scheduling.E002",
            )
        ]
    version: Version = connection.Database.sqlite_version_info
    messages: list[CheckMessage] = []
    if loses_committed_pages(version):
        messages.append(
            Error(
                f"SQLite {'.'.join(map(str, version))} can lose committed transactions.",
                hint="Install pysqlite3 0.6.1 or later, which bundles a mended SQLite (3.51.3 or newer).",
                id="scheduling.E001",
            )
        )
    if connection.settings_dict["OPTIONS"].get("transaction_mode", MODE).upper() != MODE:
        messages.append(
            Error(
                "Transactions on the SQLite ledger must begin as writers.",
                hint=f'Leave OPTIONS["transaction_mode"] out, or set it to "{MODE}".',
                id="scheduling.E003",
            )
        )
    return messages
