"""Two operators who have the page of one sweep open."""

import pytest
from django.contrib.auth.models import User

from scheduling import clock
from scheduling.admin import sweep
from scheduling.admin.letters import Found
from scheduling.admin.operations import Operation
from scheduling.ledger import Fail, Failure
from scheduling.models import OperatorAction, Schedule, Sweep, Task
from tenants.models import Tenant
from tests.races.kit import many_at_once, put, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_steps_at_once_redrive_each_letter_once_and_count_it_once(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "STEP", 10)
    put(tenant_a, 100)
    say(take(100), Fail(Failure("ValueError", "no luck"), None))
    found = Found(Task.objects.dead(), Task.objects.dead())
    begun = sweep.begin(
        Operation.REDRIVE,
        found,
        which="all dead letters",
        filters="",
        by=User.objects.create_user("ana"),
        now=clock.now(),
    )

    def take_all_steps() -> None:
        while sweep.step(begun.pk, found, clock.now()).state == Sweep.State.UNDER_WAY:
            pass

    many_at_once(4, take_all_steps)
    assert Sweep.objects.get().done == OperatorAction.objects.get().done == 100
    assert Schedule.objects.count() == 100
