"""What `moveledger` does not begin, or waits for: told before anything is changed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from scheduling import ledger
from scheduling.ledger.moving import target
from scheduling.models import Lease, Task
from tenants.models import Tenant
from tests.ledger.kit import put, take
from tests.moving.both_sides import (
    Sides,
    Templates,
    accepts_work,
    ledger_at,
    python,
    refusal,
    rows_at,
)

pytestmark = pytest.mark.django_db(transaction=True)


class TestWhatIsRefused:
    """And nothing was changed: the source works, and the target is as it was."""

    @pytest.fixture(autouse=True)
    def nothing_changed(self, sides: Sides, acme: Tenant) -> Iterator[None]:
        before = rows_at(sides.target)
        yield
        assert accepts_work(sides.source)
        assert rows_at(sides.target) == before

    def test_a_ledger_that_is_not_paused_as_a_whole(self, sides: Sides, acme: Tenant) -> None:
        with ledger_at(sides.source):
            ledger.resume(by="operator")
            ledger.pause(by="operator", tenant=acme)
        assert "setpaused true" in refusal(sides)

    def test_what_is_in_flight_and_until_when(self, sides: Sides) -> None:
        with ledger_at(sides.source):
            ledger.resume(by="operator")
            (claim,) = take()
            ledger.pause(by="operator")
        said = refusal(sides)
        assert f"{claim.task_id} of acme (leased until 2027-01-04 12:00:10 UTC)" in said
        assert "--wait" in said

    def test_a_target_without_tables_or_with_others(
        self, sides: Sides, templates: Templates
    ) -> None:
        bare = Sides(sides.source, templates.address_of(templates.new_database()))
        assert "Run `manage.py migrate` with DATABASE_URL" in refusal(bare)
        with psycopg.connect(sides.target) as server:
            server.execute(
                "DELETE FROM django_migrations WHERE name = '0016_ticks_that_wait_their_turn'"
            )
            server.execute(
                "INSERT INTO django_migrations (app, name, applied) VALUES ('a', 'b', now())"
            )
        said = refusal(sides)
        assert "It lacks scheduling.0016_ticks_that_wait_their_turn." in said
        assert "It has more than the source: a.b." in said

    def test_a_target_in_which_something_is(self, sides: Sides) -> None:
        with ledger_at(sides.target):
            Tenant.objects.create(slug="somebody")
        assert "is not empty: there are rows in tenants_tenant" in refusal(sides)
        with ledger_at(sides.target):
            Tenant.objects.all().delete()

    def test_a_target_that_another_move_is_at_work_on(
        self, sides: Sides, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(target, "PATIENCE", "50ms")
        with psycopg.connect(sides.target) as other:
            other.execute("SELECT pg_advisory_lock(%s)", [target.MOVE_LOCK])
            assert "Another moveledger is at work" in refusal(sides)

    @pytest.mark.parametrize(
        "url", ["mysql://me:hunter2@host/db", "postgres://me:hunter2@[host/db", "hunter2"]
    )
    def test_an_address_that_is_none_without_repeating_its_password(
        self, sides: Sides, url: str
    ) -> None:
        said = refusal(Sides(sides.source, url))
        assert "--to" in said
        assert "hunter2" not in said

    def test_where_nothing_speaks_to_postgresql_and_what_to_install(
        self, sides: Sides, tmp_path: Path
    ) -> None:
        (tmp_path / "psycopg.py").write_text("raise ModuleNotFoundError('psycopg')")
        moving = python(
            *("manage.py", "moveledger", "--to", sides.target),
            source=sides.source,
            stderr=subprocess.STDOUT,
            PYTHONPATH=str(tmp_path),
        )
        said, _ = moving.communicate()
        assert moving.returncode == 2, said
        assert "pip install 'rentroll[postgres]'" in said
        assert "Traceback" not in said

    def test_a_ledger_that_violates_its_invariants(self, sides: Sides) -> None:
        with ledger_at(sides.source):
            broken = Task.objects.earliest("pk").pk
            Task.objects.filter(pk=broken).update(attempts=1)
        said = refusal(sides)
        assert "violates its invariants" in said
        assert str(broken) in said
        assert "--unchecked" in said

    def test_a_ledger_that_is_on_postgresql(self, sides: Sides) -> None:
        said = refusal(Sides(sides.target, sides.target))
        assert "is on PostgreSQL already" in said


UNFIT = [
    ("priority", "'high'", "no whole number"),
    ("attempts", "3000000000", "not between 0 and 32767"),
    ("timeout_seconds", "'soon'", "no number"),
    ("name", "'a' || char(0)", "NUL"),
    ("name", "x'ff'", "no text"),
    ("name", "CAST(x'61ff' AS TEXT)", "half a surrogate pair"),
    ("name", "printf('%0201d', 0)", "longer than 200"),
    ("deadline", "'2027-02-30 00:00:00'", "no date and time"),
    ("deadline", "7", "no date and time"),
    ("kwargs", '\'{"a": ["\\ud800"]}\'', "it.a[0] contains \\ud800"),
    ("kwargs", "'[NaN]'", "it[0] is nan"),
    ("kwargs", "'{'", "no JSON"),
    ("kwargs", "x'7b7d'", "no JSON"),
    ("id", "'nobody'", "no UUID"),
]
"""Values that SQLite keeps and PostgreSQL would not, in columns of tasks."""


def test_every_value_that_cannot_be_kept_is_told_before_anything_is_copied(
    sides: Sides, acme: Tenant
) -> None:
    with ledger_at(sides.source) as wrapper:
        ids = [task_id.hex for _ in UNFIT for task_id in put(acme)]
        wrapper.cursor().execute("PRAGMA ignore_check_constraints = ON")
        wrapper.cursor().execute("PRAGMA foreign_keys = OFF")
        for key, (column, value, _) in zip(ids, UNFIT, strict=True):
            wrapper.cursor().execute(
                f"UPDATE scheduling_task SET {column} = {value} WHERE id = '{key}'"  # noqa: S608
            )
    said = refusal(sides)
    for key, (column, _, fault) in zip(ids, UNFIT, strict=True):
        named = "nobody" if column == "id" else key
        (line,) = [line for line in said.splitlines() if f"id '{named}', column {column}:" in line]
        assert line.strip().startswith("scheduling_task, ")
        assert fault in line
    with ledger_at(sides.target):
        assert not Task.objects.exists()
    assert accepts_work(sides.source)


def test_rows_that_refer_to_nothing_are_told_before_anything_is_copied(
    sides: Sides, acme: Tenant
) -> None:
    with ledger_at(sides.source) as wrapper:
        wrapper.cursor().execute("PRAGMA foreign_keys = OFF")
        wrapper.cursor().execute("UPDATE scheduling_lane SET tenant_id = 77")
    assert "scheduling_lane, row 1: refers to a row of tenants_tenant that is not there" in refusal(
        sides
    )


def test_a_lease_of_a_worker_that_is_gone_is_ended_by_who_waits(sides: Sides, acme: Tenant) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone, ledger_at(sides.source):
        ledger.resume(by="operator")
        worker = ledger.Registration(pid=gone.pid)
        ledger.register(worker)
        (claim,) = take(worker=worker.id)
        ledger.pause(by="operator")
    assert sides.move("--wait").code == 0
    with ledger_at(sides.target):
        assert Task.objects.get(pk=claim.task_id).attempts == 1
        assert not Lease.objects.exists()
