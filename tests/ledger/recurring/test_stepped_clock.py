"""Scenario 42: setting the clock neither repeats a tick nor shifts one."""

from datetime import timedelta

import pytest

from scheduling.models import Task
from tenants.models import Tenant
from tests.ledger.kit import at
from tests.ledger.recurring.kit import again, fire, outcomes, recurring, told, work_off

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


@pytest.mark.parametrize("back", [2, 60, 120, 3600, 86_400])
def test_a_clock_that_is_set_back_repeats_nothing(tenant_a: Tenant, back: int) -> None:
    row = recurring(tenant_a, overlap="allow")
    for minute in range(1, 6):
        fire(at(60 * minute))
    assert fire(at(300 - back)) == 0
    for second in range(300 - min(back, 300), 420, 20):
        fire(at(second))
    assert [when for when, _ in told(row)] == [f"12:0{n}" for n in range(1, 7)]
    assert outcomes(row) == {"fired": 6}


@pytest.mark.parametrize(("policy", "runs"), [("none", 3), ("one", 3), ("all", 60)])
def test_a_clock_that_is_set_on_makes_no_flood(tenant_a: Tenant, policy: str, runs: int) -> None:
    """One before, one just in time, one of the new hour. For `all` those of the hour that is gone, one by one."""
    row = recurring(tenant_a, catchup=policy)
    fire(at(60))
    work_off(at(60))
    for second in range(80):
        fire(at(3690 + second))
        assert work_off(at(3690 + second)) <= 1
    assert Task.objects.count() == runs
    assert again(row).next_at == at(3780)


def test_a_tick_that_came_early_by_one_clock_is_not_made_again_by_another(
    tenant_a: Tenant,
) -> None:
    row = recurring(tenant_a)
    assert fire(at(57) + timedelta(seconds=3)) == 1
    assert fire(at(57)) == 0
    assert fire(at(60)) == 0
    assert told(row) == [("12:01", "fired")]
