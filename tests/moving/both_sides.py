"""Both sides of a move in one test: an SQLite ledger in a file of its own, and a database of the tests' PostgreSQL.

Each is migrated once and then copied. In the thread of the test either one is made the ledger, so that the verbs and
the commands, which know of one ledger only, are used as everywhere else.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.utils import load_backend

from config.databases import ledger_database
from scheduling import ledger
from tenants.models import Tenant
from tests.commands.kit import Said, manage
from tests.installation import MANAGE, TABLES
from tests.ledger.kit import START, put
from tests.moving.furnishing import contents


@contextmanager
def ledger_at(url: str) -> Iterator[Any]:
    """In this thread the ledger is the one at that address; the connection to it is closed afterwards."""
    ours = connections[DEFAULT_DB_ALIAS]
    settings = ours.settings_dict | {"HOST": "", "PORT": "", "USER": "", "PASSWORD": ""}
    settings |= ledger_database(url)
    wrapper = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = wrapper
    ContentType.objects.clear_cache()
    try:
        yield wrapper
    finally:
        wrapper.close()
        connections[DEFAULT_DB_ALIAS] = ours
        ContentType.objects.clear_cache()


@dataclass(frozen=True)
class Sides:
    """Where a ledger is, and where it is to go."""

    source: str
    target: str

    def move(self, *options: str) -> Said:
        """What the command says where the source is the ledger."""
        with ledger_at(self.source):
            return manage("moveledger", "--to", self.target, *options)


class Templates:
    """A migrated ledger of each kind, of which tests get copies. The server's is there already."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = os.environ["DATABASE_URL"]
        self._file = folder / "template.db"
        with ledger_at(f"sqlite:///{self._file}"):
            call_command("migrate", verbosity=0)

    def sides(self) -> Sides:
        path = self._folder / f"{uuid4().hex}.db"
        shutil.copyfile(self._file, path)
        return Sides(f"sqlite:///{path}", self.address_of(self.new_database(TABLES)))

    def new_database(self, template: str = "template1") -> str:
        name = f"moving_{uuid4().hex}"
        with psycopg.connect(self._server, autocommit=True) as server:
            server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return name

    def address_of(self, database: str) -> str:
        return urlsplit(self._server)._replace(path=f"/{database}").geturl()


def accepts_work(url: str) -> bool:
    """Whether a task can be enqueued there; if so, it is taken back."""
    with ledger_at(url):
        try:
            (task_id,) = put(Tenant.objects.get(slug="acme"))
        except OperationalError as error:
            if "takes no writes" not in str(error):
                raise
            return False
        ledger.cancel([task_id], now=START)
        return True


def moved(sides: Sides) -> Said:
    said = sides.move()
    assert (said.code, said.err) == (0, ""), said
    return said


def refusal(sides: Sides, *options: str) -> str:
    """What it says when it does nothing."""
    said = sides.move(*options)
    assert said.code == 2, said
    assert "Traceback" not in said.err
    return said.err.strip()


def python(
    *arguments: str, source: str, stderr: int | None = None, **environment: str
) -> "subprocess.Popen[str]":
    """Another program of the source's."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={
            **os.environ,
            "DATABASE_URL": source,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            **environment,
        },
        cwd=MANAGE.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def rows_at(url: str) -> int:
    with ledger_at(url):
        return sum(len(rows) for rows in contents().values())
