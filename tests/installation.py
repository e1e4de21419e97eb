"""An installation of its own for tests that need real processes: a DATA_DIR and a ledger.

Most begin with the tables, as if it had been started before: to migrate takes longer than a program's whole start, and
`test_concurrent_start` begins with nothing.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from django.conf import settings
from django.db import connection

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"

TABLES = "tables"
"""The database that ledgers with tables are copies of: a file in DATA_DIR, or one of the tests' server."""

PATIENT = {"WEB_WAIT_SECONDS": "60", "WEB_SECONDS_IN_LINE": "60"}
"""For a web server of tests that are not about overload: it turns nobody away when the machine stands still."""


@dataclass
class Installation:
    """Where an installation keeps its files, and how its commands are started."""

    data_dir: Path
    database_url: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    is_patient: bool = True
    """Tests about overload say no: they get a web server as it is shipped."""

    def start(self, *command: str, **popen: Any) -> subprocess.Popen[str]:
        """Start ``manage.py`` with that command; its output, errors included, is read from stdout."""
        own = {"DATA_DIR": str(self.data_dir), "DEBUG": "1", **self.environment}
        if self.is_patient:
            own = PATIENT | own
        if self.database_url:
            own["DATABASE_URL"] = self.database_url
        return subprocess.Popen(
            [sys.executable, str(MANAGE), *command],
            env={**os.environ, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **popen,
        )

    @contextmanager
    def serving(self, **environment: str) -> Iterator[tuple[str, int]]:
        """`serve` with these settings besides, stopped at the end: its address, and its process id."""
        self.environment |= {"PORT": "0", **environment}
        with self.start("serve") as server:
            try:
                yield first_match(r"Listening at: (http://\S+)", server), server.pid
            finally:
                server.send_signal(signal.SIGTERM)
                server.communicate()


def empty_installation(folder: Path) -> Installation:
    """On the same kind of database as the tests, without tables."""
    server_url = os.environ.get("DATABASE_URL")
    return Installation(folder / "data", empty_postgres(server_url) if server_url else None)


def installation_with_tables(folder: Path) -> Installation:
    """On the same kind of database as the tests, migrated. Needs pytest-django's `django_db_setup`."""
    if server_url := os.environ.get("DATABASE_URL"):
        return Installation(folder / "data", copy_of_postgres(server_url, TABLES))
    installation = Installation(folder / "data")
    installation.data_dir.mkdir(mode=0o700)
    shutil.copyfile(settings.DATA_DIR / TABLES, installation.data_dir / "scheduler.db")
    return installation


def keep_tables() -> None:
    """Put a copy of the tests' own database aside, as the migrations left it."""
    connection.close()  # of what is connected to, neither kind is copied whole
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        shutil.copyfile(name, settings.DATA_DIR / TABLES)
    else:
        copy_of_postgres(os.environ["DATABASE_URL"], name, called=TABLES)


def empty_postgres(server_url: str) -> str:
    """The address of a new database on the server that the tests run on."""
    return copy_of_postgres(server_url, "template1")


def copy_of_postgres(server_url: str, template: str, *, called: str = "") -> str:
    """The address of a new database of that server, as another one is to which nobody is connected."""
    name = called or f"installation_{uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return urlsplit(server_url)._replace(path=f"/{name}").geturl()


def first_match(pattern: str, process: subprocess.Popen[str]) -> str:
    """What the pattern's group matches in the first line of output that it matches at all."""
    seen = []
    assert process.stdout
    for line in process.stdout:
        seen.append(line)
        if found := re.search(pattern, line):
            return found[1]
    raise AssertionError("It ended before it said so:\n" + "".join(seen))
