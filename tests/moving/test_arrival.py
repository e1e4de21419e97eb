"""`moveledger`: everything arrives, exactly, and work goes on there and nowhere else."""

import json

import pytest
from django.core.management import CommandError, call_command

from scheduling import ledger
from scheduling.ledger import check
from scheduling.ledger.moving import move
from scheduling.ledger.moving.tables import LEFT_OUT
from scheduling.models import Task
from tenants.models import ApiToken, Tenant
from tests.ledger.kit import run, take, take_all
from tests.moving.both_sides import Sides, Templates, accepts_work, ledger_at, moved, python
from tests.moving.furnishing import contents, every_model, furnish

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(180),  # many programs are started, one after the other
]


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
