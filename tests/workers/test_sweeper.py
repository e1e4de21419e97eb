"""What a worker process does about sweeps: a step at a time, each in turn, whether anybody looks or not."""

import pytest

from scheduling import sweeps
from scheduling.audit import Actor, Via
from scheduling.models import Sweep, Task
from scheduling.workers.sweeper import BREATH, PATIENCE, PERIOD, Sweeper
from tenants.models import Tenant
from tests.admin.kit import bury
from tests.workers.kit import Clock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def begin(**asked: object) -> Sweep:
    rate = asked.pop("per_second", None)
    return sweeps.begin(
        Sweep.Operation.REDRIVE,
        asked,
        which="those",
        by=Actor("ana", Via.CONSOLE),
        per_second=rate,  # type: ignore[arg-type]
    )


@pytest.fixture
def sweeper(moved_clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Sweeper:
    monkeypatch.setattr(sweeps, "STEP", 2)
    return Sweeper()


def test_it_works_one_off_step_by_step(
    sweeper: Sweeper, moved_clock: Clock, tenant_a: Tenant
) -> None:
    bury(tenant_a, 5)
    begin()
    for left, wait in ((3, BREATH), (1, BREATH), (0, PATIENCE)):
        sweeper.run()
        assert Task.objects.dead().count() == left
        assert sweeper.due_at == pytest.approx(moved_clock.seconds + wait)
    assert Sweep.objects.get().state == Sweep.State.FINISHED
    sweeper.run()
    assert sweeper.due_at == pytest.approx(moved_clock.seconds + PERIOD)


def test_what_only_a_newer_release_can_ask_for_is_left_to_it(
    sweeper: Sweeper, tenant_a: Tenant
) -> None:
    """Without that part, everything would match."""
    bury(tenant_a, 3)
    with pytest.raises(ValueError, match="cannot be asked for by colour"):
        begin(colour="red")
    begin()
    Sweep.objects.update(asked={"colour": "red"})
    sweeper.run()
    assert Task.objects.dead().count() == 3


def test_each_has_its_turn_however_many_another_has_to_do(
    sweeper: Sweeper, tenant_a: Tenant
) -> None:
    bury(tenant_a, 6, name="many.of.it")
    bury(tenant_a, 1, name="one.of.it")
    begin(name="many.of.it")
    slow = begin(name="one.of.it", per_second=0.01)
    small = begin(name="one.of.it")
    for _ in range(3):
        sweeper.run()
    small.refresh_from_db()
    slow.refresh_from_db()
    assert (small.state, slow.state) == (Sweep.State.FINISHED, Sweep.State.UNDER_WAY)
