"""Several workers at one sweep."""

import pytest

from scheduling import sweeps
from scheduling.audit import Actor, Via
from scheduling.ledger import Fail, Failure
from scheduling.models import OperatorAction, Schedule, Sweep
from tenants.models import Tenant
from tests.races.kit import many_at_once, put, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_steps_at_once_redrive_each_letter_once_and_count_it_once(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps, "STEP", 10)
    put(tenant_a, 100)
    say(take(100), Fail(Failure("ValueError", "no luck"), None))
    begun = sweeps.begin(
        Sweep.Operation.REDRIVE, {}, which="all dead letters", by=Actor("ana", Via.CONSOLE)
    )

    def take_all_steps() -> None:
        while Sweep.objects.under_way().exists():
            sweeps.step(begun.pk)

    many_at_once(4, take_all_steps)
    assert Sweep.objects.get().done == OperatorAction.objects.get().done == 100
    assert Schedule.objects.count() == 100
