"""`moveledger --verify` and `--undo`: a difference is named, and there is a way back while nothing would be lost."""

import pytest

from scheduling import ledger
from scheduling.models import Task
from tenants.models import ApiToken, Tenant
from tests.ledger.kit import START, put
from tests.moving.both_sides import Sides, Templates, accepts_work, ledger_at, moved, refusal

pytestmark = pytest.mark.django_db(transaction=True)


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
