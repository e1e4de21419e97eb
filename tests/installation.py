"""An installation of its own for tests that need real processes: an empty DATA_DIR and an empty ledger."""

import os
import re
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

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"
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
    """On the same kind of database as the tests."""
    server_url = os.environ.get("DATABASE_URL")
    return Installation(folder / "data", empty_postgres(server_url) if server_url else None)


def empty_postgres(server_url: str) -> str:
    """The address of a new database on the server that the tests run on."""
    name = f"installation_{uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
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
