"""Scenario 20: PgBouncer in transaction mode is refused when programs start, with the reason."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from psycopg.conninfo import conninfo_to_dict

from scheduling import checks
from tests.faults.servers import answers, own_server, user_of_servers
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

PORT = 6543


def refusal() -> str:
    """What `runworkers` says instead of starting, of this database."""
    with pytest.raises(SystemCheckError) as refused:
        call_command("runworkers")
    return str(refused.value)


def test_the_database_of_the_tests_is_taken() -> None:
    assert checks.sessions_are_our_own(["default"]) == []


class TestPooler:
    """As it looks from here."""

    @pytest.fixture(autouse=True)
    def on_postgres(self) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("PostgreSQL only")

    def test_that_gives_transactions_other_sessions_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(checks, "session_of", lambda client: 1)
        assert "gives each transaction another session" in refusal()

    def test_that_refuses_settings_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def connect(**params: Any) -> None:
            raise psycopg.OperationalError("FATAL: unsupported startup parameter: options")

        monkeypatch.setattr(psycopg, "connect", connect)
        assert checks.problem_of_pooler(connection) == "refuses the settings of its sessions"

    def test_is_not_suspected_while_nobody_answers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def connect(**params: Any) -> None:
            raise psycopg.OperationalError("connection refused")

        monkeypatch.setattr(psycopg, "connect", connect)
        assert checks.sessions_are_our_own(["default"]) == []


@contextmanager
def pgbouncer(conninfo: str, mode: str, *more: str) -> Iterator[dict[str, Any]]:
    """Runs the real one in front of a server; answers what connects to it. Skips where it is not installed."""
    program = shutil.which("pgbouncer")
    if program is None:
        pytest.skip("Needs pgbouncer, which is not installed.")
    server = conninfo_to_dict(conninfo)
    folder = Path(str(server["host"]))
    file = folder / "pgbouncer.ini"
    file.write_text(
        "\n".join(
            [
                "[databases]",
                f"* = host={server['host']} port={server['port']} user={server['user']}",
                "[pgbouncer]",
                f"unix_socket_dir = {folder}",
                f"listen_port = {PORT}",
                "auth_type = any",
                f"pool_mode = {mode}",
                *more,
            ]
        )
    )
    file.chmod(0o644)
    user = user_of_servers()
    process = subprocess.Popen([program, *(["-u", user] if user else []), str(file)])
    try:
        pooled = server | {"port": PORT}
        until(lambda: answers(conninfo.replace(f"port={server['port']}", f"port={PORT}")))
        yield pooled
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@pytest.mark.parametrize(
    ("mode", "more", "problem"),
    [
        ("transaction", ["ignore_startup_parameters = options"], "another session"),
        ("transaction", [], "settings of its sessions"),
        ("session", ["ignore_startup_parameters = options"], None),
    ],
)
def test_pgbouncer_is_taken_in_session_mode_only(
    mode: str, more: list[str], problem: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with own_server() as server, pgbouncer(server.conninfo, mode, *more) as pooled:
        params = connection.get_connection_params() | pooled
        monkeypatch.setattr(connection, "get_connection_params", lambda: params)
        found = checks.problem_of_pooler(connection)
    assert (found is None) if problem is None else (found is not None and problem in found)
