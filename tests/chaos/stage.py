"""What a run plays on: a folder, an empty ledger, clocks that can be set, and programs to break."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos import clocks, disk, effects, plan
from tests.chaos.clocks import Clock
from tests.chaos.disk import Disk
from tests.chaos.plan import Kind
from tests.chaos.postgres import Postgres
from tests.chaos.processes import Program
from tests.installation import MANAGE

SUPERVISORS = (
    ("--processes=2", "--threads=4"),
    ("--processes=2", "--threads=3"),
    ("--processes=2", "--threads=2", "--queues=mail"),
)
"""The first goes by the true time of day, the others have clocks that are set."""
WORKERS_ALIKE = (f"--lease-seconds={plan.LEASE}", "--grace-seconds=1.5")
GUNICORN = ("-m", "gunicorn", "-c", "python:config.gunicorn", "config.wsgi")
NEEDS = {
    Kind.FILL_DISK: "SQLite, and the right to mount a file system in memory",
    Kind.STEP_CLOCK: "libfaketime (Debian: faketime)",
    Kind.RESTART_DATABASE: "PostgreSQL",
    Kind.DROP_CONNECTIONS: "PostgreSQL",
}


@dataclass
class Stage:
    folder: Path
    database_url: str
    disk: Disk | None
    server: Postgres | None
    supervisors: list[Program] = field(default_factory=list)
    web: Program = field(init=False)
    web_url: str = field(init=False)

    @property
    def programs(self) -> list[Program]:
        """Those of ours: not the database."""
        return [*self.supervisors, self.web]

    @property
    def clocks(self) -> list[Clock]:
        """All that can be set."""
        programs = [*self.programs, *([self.server.program] if self.server else [])]
        return [program.clock for program in programs if program.clock]

    def possible(self) -> set[Kind]:
        """Faults that can be done here."""
        impossible = {
            Kind.FILL_DISK: self.disk is None,
            Kind.STEP_CLOCK: not self.clocks,
            Kind.RESTART_DATABASE: self.server is None,
            Kind.DROP_CONNECTIONS: self.server is None,
        }
        return {kind for kind in Kind if not impossible.get(kind, False)}

    def files(self) -> dict[str, str]:
        """The environment of every process that plays."""
        return {
            "DEBUG": "1",
            "DATA_DIR": str(self.folder / "data"),
            "DATABASE_URL": self.database_url,
            "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
            "PYTHONPATH": str(MANAGE.parent),
            effects.FILE: str(self.effects),
        }

    @property
    def effects(self) -> Path:
        """Not on the disk that is filled: handlers must be able to tell."""
        return self.folder / "effects"


@contextmanager
def set_up(folder: Path, database: str, supervisors: int) -> Iterator[Stage]:
    """Everything but the tables. At the end of the block every process has ended, and nothing is mounted."""
    with ExitStack() as until_the_end:
        if database == "sqlite":
            small = until_the_end.enter_context(disk.mounted(folder / "ledger"))
            stage = Stage(folder, f"sqlite:///{folder / 'ledger' / 'scheduler.db'}", small, None)
        else:
            server = Postgres(folder, dict(os.environ), _clock(folder, "server", threads=False))
            until_the_end.callback(server.end)
            server.start()
            stage = Stage(folder, server.url, None, server)
        _cast(stage, supervisors)
        for program in stage.programs:
            until_the_end.callback(program.end)
        yield stage


def _cast(stage: Stage, supervisors: int) -> None:
    """The programs. On PostgreSQL it is the server's clock that decides, on SQLite everybody's own."""
    environment = {**os.environ, **stage.files()}
    for number, options in enumerate(SUPERVISORS[:supervisors]):
        command = [sys.executable, str(MANAGE), "runworkers", *options, *WORKERS_ALIKE]
        name = f"workers-{number}"
        clock = _clock(stage.folder, name) if number else None
        stage.supervisors.append(Program(name, command, environment, stage.folder, clock=clock))
    port = free_port()
    environment |= {"PORT": str(port), "WEB_CONCURRENCY": "2"}
    stage.web_url = f"http://127.0.0.1:{port}"
    command = [sys.executable, *GUNICORN]
    clock = _clock(stage.folder, "web")
    stage.web = Program("web", command, environment, stage.folder, clock=clock)


def _clock(folder: Path, whose: str, *, threads: bool = True) -> Clock | None:
    library = clocks.library("libfaketimeMT.so.1" if threads else "libfaketime.so.1")
    return Clock(folder / f"clock-{whose}", library) if library else None


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
