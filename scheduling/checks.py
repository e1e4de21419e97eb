"""System checks: what would make the ledger lie, found at start-up."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

Version = tuple[int, int, int]

FIXED_IN: tuple[Version, ...] = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""Releases in which the WAL-reset race was mended: two maintenance branches, then all that followed."""


def loses_committed_pages(version: Version) -> bool:
    """Whether that SQLite can lose a committed page when a checkpoint races a reset of the log."""
    if version >= FIXED_IN[-1]:
        return False
    return not any(version[:2] == fixed[:2] and version >= fixed for fixed in FIXED_IN)


@register(Tags.database)
def sqlite_is_safe(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    return [
        message
        for alias in databases or ()
        if connections[alias].vendor == "sqlite"
        for message in problems_of(connections[alias])
    ]


def problems_of(connection: Any) -> list[CheckMessage]:
    version: Version = connection.Database.sqlite_version_info
    shown = ".".join(map(str, version))
    messages: list[CheckMessage] = []
    if loses_committed_pages(version):
        messages.append(
            Error(
                f"SQLite {shown} can lose committed transactions.",
                hint="Install pysqlite3 0.6.1 or later, which bundles a mended SQLite (3.51.3 or newer).",
                id="scheduling.E001",
            )
        )
    if connection.settings_dict["ENGINE"] != "scheduling.sqlite":
        messages.append(
            Error(
                f"The ledger needs its own SQLite engine, not {connection.settings_dict['ENGINE']}.",
                hint='Set ENGINE to "scheduling.sqlite": it makes writers queue and commits durable.',
                id="scheduling.E002",
            )
        )
    elif str(connection.settings_dict["OPTIONS"].get("transaction_mode")).upper() != "IMMEDIATE":
        messages.append(
            Error(
                "Transactions on the SQLite ledger must begin as writers.",
                hint='Set OPTIONS["transaction_mode"] to "IMMEDIATE".',
                id="scheduling.E003",
            )
        )
    return messages
