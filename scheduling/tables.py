"""Owns whether the tables of the ledger are those that this code was written for.

Code that is older than its tables would misread what it finds, and break what it writes; code that is newer
finds columns missing. Every program asks here before it touches anything else.

A migration whose name begins with `expand_` after its number only adds what older code need not know of. The older
release goes on beside it, and may be started again: that is what an upgrade without downtime takes.
"""

import re
from collections.abc import Set
from functools import cache
from threading import Lock

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

OURS = ("scheduling", "tenants")
Migration = tuple[str, str]
EXPANDS = re.compile(r"\d{4}_expand_")
"""A name is all that code which is older than a migration knows of it. tests/test_migrations.py holds them to it."""

_reading = Lock()
"""Django loads the modules of migrations anew to read them, and no two threads can do that at once."""


class TablesDiffer(Exception):
    """The tables are not this code's. Says what happened and what to do; nothing was changed."""


def require_fit() -> None:
    """Raises TablesDiffer unless this code's migrations were applied, and beside them none but such as only expand.

    Raises OperationalError without a ledger.
    """
    with _reading:
        executor = MigrationExecutor(connection)
    require_known(executor.loader)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise TablesDiffer("The tables are not up to date. Run `manage.py migrate`.")


@cache  # a refusal is not kept: once the tables fit, nobody asks again
def require_fit_once() -> None:
    """The same, for those who ask with every request."""
    require_fit()


def require_known(loader: MigrationLoader | None = None) -> None:
    """Raises TablesDiffer when a newer release has done more than add; tables of an older one may stand."""
    if loader is None:
        with _reading:
            loader = MigrationLoader(connection)
    unknown = sorted(_applied(loader) - _known(loader))
    if unknown := [key for key in unknown if not EXPANDS.match(key[1])]:
        names = ", ".join(f"{app}.{name}" for app, name in unknown)
        raise TablesDiffer(
            f"A newer release has changed the tables ({names}), and this one does not know how. Nothing was "
            "changed now. Run the newer release, or restore a backup from before the upgrade."
        )


def _applied(loader: MigrationLoader) -> Set[Migration]:
    return {key for key in loader.applied_migrations if key[0] in OURS}


def _known(loader: MigrationLoader) -> Set[Migration]:
    """Also those that were squashed into another one and are gone."""
    replaced = {key for one in loader.disk_migrations.values() for key in one.replaces}
    return replaced | set(loader.disk_migrations)
