"""Owns `/healthz` and `/readyz`: whether this process lives, and whether it can do its work. No token needed."""

import shutil
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling.api.v1.base import JsonView
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.problems import Refused
from scheduling.models import Dispatch

LEAST_FREE_BYTES = 64 * 1024 * 1024
"""Room for the write-ahead log to grow in until a checkpoint; with less, any commit may be the last."""


class NotReady(Exception):
    """Says what is amiss, in a sentence."""


class HealthView(JsonView):
    """The process takes requests. Asks nothing of the database, whose trouble no restart would mend."""

    def get(self, request: Request) -> Response:
        return Response({"status": "alive"})


class ReadyView(JsonView):
    """The ledger answers, its tables are up to date, and its disk has room."""

    def get(self, request: Request) -> Response:
        figures = storage()
        try:
            require_room(figures["free_bytes"])
            require_ledger()
        except NotReady as state:
            raise Refused(Kind.UNAVAILABLE, str(state), **figures) from state
        return Response({"status": "ready", **figures})


def storage() -> dict[str, int]:
    """Bytes free where files are kept; if the ledger is a file of this host, its size and its log's."""
    figures = {"free_bytes": shutil.disk_usage(settings.DATA_DIR).free}
    ledger = Path(connection.settings_dict["NAME"])
    if ledger.is_file():
        log = ledger.with_name(f"{ledger.name}-wal")
        figures |= {
            "ledger_bytes": ledger.stat().st_size,
            "wal_bytes": log.stat().st_size if log.exists() else 0,
        }
    return figures


def require_room(free_bytes: int) -> None:
    if free_bytes < LEAST_FREE_BYTES:
        raise NotReady(f"The disk is nearly full: {free_bytes} bytes are free.")


def require_ledger() -> None:
    try:
        require_migrations()
        Dispatch.objects.exists()
    except Error as error:
        raise NotReady("The database does not answer.") from error


@cache  # a refusal is not kept, so once tables are up to date they are not asked for again
def require_migrations() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise NotReady("The tables are not up to date. Run `manage.py migrate`.")
