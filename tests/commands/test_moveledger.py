"""`moveledger`: everything arrives, exactly; whatever happens on the way, nothing is lost or done twice."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from psycopg.conninfo import conninfo_to_dict
from pytest_django import DjangoDbBlocker

from scheduling import ledger
from scheduling.ledger import check
from scheduling.ledger.moving import move, seal, target
from scheduling.ledger.moving.tables import LEFT_OUT
from scheduling.models import Lease, Task
from tenants.models import ApiToken, Tenant
from tests.commands.furnishing import contents, every_model, furnish
from tests.commands.kit import Said
from tests.commands.moving import Sides, Templates, ledger_at
from tests.installation import MANAGE
from tests.ledger.kit import START, put, run, take, take_all
from tests.packaging.project import SNIPPETS
from tests.pages import DOCS
from tests.walks import blocks_of, walking

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(180),  # many programs are started, one after the other
]


@pytest.fixture(scope="module")
def templates(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Templates:
    with django_db_blocker.unblock():
        return Templates(tmp_path_factory.mktemp("moving"))


@pytest.fixture
def sides(templates: Templates) -> Sides:
    """A source that is migrated, empty and paused, and a target that is migrated."""
    sides = templates.sides()
    with ledger_at(sides.source):
        ledger.pause(by="operator")
    return sides


@pytest.fixture
def acme(sides: Sides) -> Tenant:
    """A tenant of the source, with three tasks."""
    with ledger_at(sides.source):
        tenant = Tenant.objects.create(slug="acme", max_queued=None, rate_per_second=None)
        put(tenant, 3)
    return tenant


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


def refusal(sides: Sides, *options: str) -> str:
    """What it says when it does nothing."""
    said = sides.move(*options)
    assert said.code == 2, said
    assert "Traceback" not in said.err
    return said.err.strip()


def moved(sides: Sides) -> Said:
    said = sides.move()
    assert (said.code, said.err) == (0, ""), said
    return said


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


class TestWhatArrives:
    def test_everything_in_every_table(
        self, templates: Templates, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(move, "CHUNK_ROWS", 3)
        sides = templates.sides()
        with ledger_at(sides.source):
            furnish()
            before = contents()
        assert [label for label, rows in before.items() if not rows] == ["scheduling.Lease"]

        said = moved(sides)

        with ledger_at(sides.target):
            after = contents()
            assert check.violations() == []
        for label, rows in before.items():
            assert after[label] == ([] if label.lower() in LEFT_OUT else rows), label
        count = sum(map(len, after.values()))
        assert (
            f"Moved: {count} rows of {len(every_model()) - len(LEFT_OUT)} tables, in " in said.out
        )

    def test_ids_go_on_behind_the_highest_that_was_ever_given(self, templates: Templates) -> None:
        sides = templates.sides()
        with ledger_at(sides.source):
            furnish()
            last = Tenant.objects.create(slug="gone").pk
            Tenant.objects.filter(pk=last).delete()
        moved(sides)
        with ledger_at(sides.target):
            assert Tenant.objects.create(slug="next").pk == last + 1
            assert ApiToken.objects.issue(tenant=None)[0].pk == 3

    def test_work_goes_on_in_the_target_and_nowhere_else(self, sides: Sides, acme: Tenant) -> None:
        moved(sides)
        assert not accepts_work(sides.source)
        assert accepts_work(sides.target)
        with ledger_at(sides.target):
            assert take_all() == []  # it is paused as the source was
            ledger.resume(by="operator")
            assert len(run(take(5))) == 3
            assert check.violations() == []

    def test_moving_again_does_nothing(self, sides: Sides, acme: Tenant) -> None:
        moved(sides)
        assert "has moved to postgres://" in moved(sides).out
        assert accepts_work(sides.target)

    def test_what_is_enqueued_until_the_last_moment_is_not_lost(
        self, sides: Sides, acme: Tenant
    ) -> None:
        """Another process enqueues all the while, until it is refused."""
        enqueue = (
            "import django; django.setup()\n"
            "from django.db import OperationalError\n"
            "from tenants.models import Tenant\n"
            "from tests.ledger.kit import put\n"
            "acme, accepted = Tenant.objects.get(), 0\n"
            "try:\n"
            "    while True:\n"
            "        accepted += len(put(acme))\n"
            "        if accepted == 10: print('under way', flush=True)\n"
            "except OperationalError as error:\n"
            "    print(accepted, error, flush=True)\n"
        )
        with python("-c", enqueue, source=sides.source) as writer:
            assert writer.stdout
            assert writer.stdout.readline() == "under way\n"
            moved(sides)
            accepted, _, why = writer.stdout.readline().partition(" ")
        assert "it moves to postgres://" in why
        with ledger_at(sides.target):
            assert Task.objects.count() == 3 + int(accepted)


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


def killed_again_and_again(sides: Sides, *options: str) -> Iterator[None]:
    """Say it in programs that die, each a little later, on what the one before left; until one gets to the end."""
    words = ("--to", sides.target, *options)
    with python("-m", "tests.commands.killer", *words, source=sides.source) as killer:
        assert killer.stdin
        assert killer.stdout
        for statements in range(5, 5000, 37):
            killer.stdin.write(f"{statements}\n")
            killer.stdin.flush()
            if (ended := int(killer.stdout.readline())) == 0:
                break
            assert ended == -signal.SIGKILL
            yield
        killer.stdin.close()
    assert ended == 0


def test_killed_at_any_statement_it_goes_on_and_nothing_is_lost(templates: Templates) -> None:
    sides = templates.sides()
    with ledger_at(sides.source):
        furnish()
        before = contents()
    met_a_part = False
    for _ in killed_again_and_again(sides):
        with ledger_at(sides.target):
            is_a_part = Tenant.objects.exists()
        if is_a_part:
            assert not accepts_work(sides.source)
            met_a_part = met_a_part or not accepts_work(sides.target)
    assert met_a_part
    with ledger_at(sides.target):
        after = contents()
    for label, rows in before.items():
        assert after[label] == ([] if label.lower() in LEFT_OUT else rows), label
    assert accepts_work(sides.target)


class TestVerifying:
    @pytest.fixture(autouse=True)
    def moved(self, sides: Sides, acme: Tenant) -> None:
        moved(sides)

    def test_the_same_is_the_same(self, sides: Sides) -> None:
        assert "The same on both sides: " in sides.move("--verify").out

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ("UPDATE scheduling_task SET kwargs = '{\"a\": 1}' WHERE id = %s", "kwargs differs"),
            ("DELETE FROM scheduling_task WHERE id = %s", "is in the source only"),
        ],
        ids=["changed", "lost"],
    )
    def test_the_first_difference_is_named(self, sides: Sides, change: str, told: str) -> None:
        with ledger_at(sides.target) as wrapper:
            second = Task.objects.order_by("pk")[1].pk
            wrapper.cursor().execute(change, [second])
        said = sides.move("--verify")
        assert said.code == 1
        assert f"the first difference: scheduling_task, id {second}" in said.err
        assert told in said.err

    def test_what_came_since_is_in_the_target_only(self, sides: Sides) -> None:
        with ledger_at(sides.target):
            (new,) = put(Tenant.objects.get())
        said = sides.move("--verify")
        assert said.code == 1
        assert f"scheduling_schedule, task_id {new} is in the target only" in said.err
        assert "scheduling_schedule has 3 rows in the source, 4 in the target" in said.err


class TestGoingBack:
    def test_to_a_ledger_that_works_and_may_move_again(self, sides: Sides, acme: Tenant) -> None:
        with ledger_at(sides.source):
            token, _ = ApiToken.objects.issue(tenant=acme)
        moved(sides)
        with ledger_at(sides.target):  # workers and people look around
            ledger.register(ledger.Registration())
            token.note_use(START)
        assert "This ledger works again" in sides.move("--undo").out
        assert accepts_work(sides.source)
        with ledger_at(sides.target):
            assert not Tenant.objects.exists()
        moved(sides)
        assert not accepts_work(sides.source)
        assert accepts_work(sides.target)

    def test_killed_at_any_statement_it_goes_on_and_one_side_at_most_takes_work(
        self, sides: Sides, acme: Tenant
    ) -> None:
        moved(sides)
        kills = 0
        for _ in killed_again_and_again(sides, "--undo"):
            kills += 1
            with ledger_at(sides.source):
                is_sealed = seal.sealed() is not None
            with ledger_at(sides.target):
                assert is_sealed or seal.sealed() is not None or not Tenant.objects.exists()
        assert kills > 3
        assert accepts_work(sides.source)
        with ledger_at(sides.target):
            assert not Tenant.objects.exists()

    def test_not_when_the_target_has_accepted_anything(self, sides: Sides, acme: Tenant) -> None:
        moved(sides)
        with ledger_at(sides.target):
            (new,) = put(Tenant.objects.get())
        said = refusal(sides, "--undo")
        assert f"scheduling_schedule, task_id {new} is in the target only" in said
        assert "There is no way back." in said
        assert not accepts_work(sides.source)
        assert accepts_work(sides.target)

    def test_not_by_looking_at_another_target(
        self, sides: Sides, acme: Tenant, templates: Templates
    ) -> None:
        moved(sides)
        other = Sides(sides.source, templates.sides().target)
        assert "holds nothing of it" in refusal(other, "--undo")
        assert "Go on with that one" in refusal(other)
        assert not accepts_work(sides.source)

    def test_there_must_be_something_to_undo(self, sides: Sides) -> None:
        assert "is not sealed" in refusal(sides, "--undo")


def test_programs_are_told_in_json(sides: Sides, acme: Tenant) -> None:
    told = json.loads(sides.move("--json").out)
    assert told["rows"] == sum(table["rows"] for table in told["tables"].values())
    assert told["tables"]["scheduling_task"]["rows"] == 3
    assert json.loads(sides.move("--verify", "--json").out)["tables"] == told["tables"]
    assert json.loads(sides.move("--json").out) == {"moved_before": True}
    assert json.loads(sides.move("--undo", "--json").out) == {"undone": True}


def test_a_sealed_ledger_is_not_migrated(sides: Sides, acme: Tenant) -> None:
    """SQLite makes a table anew to change it, and the seal would be gone."""
    moved(sides)
    with ledger_at(sides.source), pytest.raises(CommandError, match="it moves to postgres://"):
        call_command("migrate", verbosity=0)


class TestTheGuide:
    """docs/how-to/move-to-postgresql.md, typed from top to bottom."""

    PAGE = DOCS / "how-to" / "move-to-postgresql.md"
    STAND_ALONE, OF_THEIRS = "In the stand-alone project", "In a project of your own"
    REHEARSAL, BACK = "A rehearsal", "Going back"
    GO_ON = "on_new setpaused false\n"

    def test_what_is_typed_in_the_stand_alone_project_moves_it_and_takes_it_back(
        self, templates: Templates, tmp_path: Path
    ) -> None:
        sides = templates.sides()
        file = shutil.move(sides.source.removeprefix("sqlite:///"), tmp_path / "scheduler.db")
        (tmp_path / "manage.py").symlink_to(MANAGE)
        second = templates.address_of(templates.new_database())
        addresses = {"NEW": sides.target, "SECOND": second}
        with walking(tmp_path, **addresses, DATA_DIR=str(tmp_path), DEBUG="1") as walk:
            for block in blocks_of(self.PAGE, without=[self.OF_THEIRS]):
                if block.text != self.GO_ON:
                    walk.take(block)
        with ledger_at(f"sqlite:///{file}"):
            assert not ledger.control().paused

    def test_what_is_typed_in_a_project_of_their_own_moves_it(
        self, templates: Templates, tmp_path: Path
    ) -> None:
        name = templates.new_database()
        target = templates.address_of(name)
        settings, _, on_sqlite, *_ = SNIPPETS
        with walking(tmp_path, NEW=target, PYTHONPATH=str(MANAGE.parent), **libpq(target)) as walk:
            walk.type("django-admin startproject shop .")
            with (tmp_path / "shop" / "settings.py").open("a") as file:
                file.writelines([settings, on_sqlite])
            walk.type("python manage.py migrate")
            for block in blocks_of(
                self.PAGE, without=[self.STAND_ALONE, self.REHEARSAL, self.BACK]
            ):
                theirs = block.text.replace('"NAME": "rentroll"', f'"NAME": "{name}"')
                walk.take(replace(block, text=theirs))
        with ledger_at(target):
            assert not ledger.control().paused


def libpq(url: str) -> dict[str, str]:
    """Where libpq looks for what the settings of a database leave out."""
    parts = conninfo_to_dict(url)
    named = {part: parts.get(part) for part in ("host", "port", "user", "password")}
    return {f"PG{part.upper()}": str(value) for part, value in named.items() if value}
