"""A tick whose tenant is at a limit waits for as long as a late tick is of use, and is then missed: never lost."""

from datetime import timedelta

import pytest

from scheduling import ledger
from scheduling.errors import Overloaded
from scheduling.ledger import capacity
from scheduling.ledger.recurring import release
from scheduling.models import Task
from tenants.models import Tenant
from tests.ledger.kit import at, put, run, take
from tests.ledger.recurring.kit import again, fire, outcomes, reasons, recurring, told, work_off

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_a_tick_is_fired_once_there_is_room(tenant_a: Tenant) -> None:
    Tenant.objects.update(max_queued=1)
    put(tenant_a)
    row = recurring(tenant_a)
    assert fire(at(60)) == 0
    assert told(row) == [("12:01", None)]
    assert reasons(row) == ["Its tenant was at its max_queued of 1."]
    assert work_off(at(65)) == 1
    assert fire(at(66)) == 0  # it tries again every ten seconds
    assert fire(at(70)) == 1
    assert told(row) == [("12:01", "fired")]
    assert reasons(row) == []


@pytest.mark.parametrize(
    ("policy", "window", "missed_after"),
    [("none", 3600, 60), ("one", 600, 600), ("all", 600, 600), ("one", 10, 60)],
)
def test_a_tick_waits_for_as_long_as_it_is_of_use(
    tenant_a: Tenant, policy: str, window: int, missed_after: int
) -> None:
    Tenant.objects.update(max_queued=1)
    put(tenant_a)
    row = recurring(tenant_a, cron="0 * * * *", catchup=policy, catchup_window_seconds=window)
    fire(at(3600))
    fire(at(3600 + missed_after - 0.1))
    assert told(row) == [("13:00", None)]
    fire(at(3600 + missed_after))
    assert told(row) == [("13:00", "missed")]
    assert reasons(row) == ["Its tenant was at its max_queued of 1."]


def test_of_many_ticks_as_many_fire_as_fit_and_other_tenants_know_nothing_of_it(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=5)
    mine = [recurring(tenant_a, name=f"n{n}") for n in range(12)]
    theirs = [recurring(tenant_b, name=f"n{n}") for n in range(12)]
    assert fire(at(60)) == 17
    assert sum(told(row) == [("12:01", "fired")] for row in mine) == 5
    assert all(told(row) == [("12:01", "fired")] for row in theirs)
    work_off(at(61))
    fire(at(70))
    assert Task.objects.filter(tenant=tenant_a).count() == 10


def test_the_rate_holds_for_ticks_as_for_everybody(tenant_a: Tenant) -> None:
    Tenant.objects.update(rate_per_second=0.1, rate_burst=3)
    rows = [recurring(tenant_a, name=f"n{n}") for n in range(5)]
    assert fire(at(60)) == 3
    assert fire(at(70)) == 1
    assert fire(at(80)) == 1
    assert all(told(row) == [("12:01", "fired")] for row in rows)


def test_a_tick_that_waited_for_its_predecessor_may_wait_for_room_as_well(
    tenant_a: Tenant,
) -> None:
    row = recurring(tenant_a, overlap="buffer_one", catchup="none")
    fire(at(60))
    fire(at(120))
    work_off(at(500))
    Tenant.objects.update(max_queued=1)
    put(tenant_a, now=at(500))
    fire(at(500))
    assert told(row)[1] == ("12:02", None)
    fire(at(559))
    assert told(row)[1] == ("12:02", None)
    fire(at(560))
    assert told(row)[1] == ("12:02", "missed")


def test_while_nobodys_tasks_are_accepted_nothing_is_decided(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = recurring(tenant_a)

    def full() -> None:
        raise Overloaded("The disk is nearly full.", retry_after=timedelta(seconds=5))

    with monkeypatch.context() as patch:
        patch.setattr(capacity, "require_room", full)
        with pytest.raises(Overloaded):
            ledger.fire_due(now=at(60))
        assert ledger.fire_due(now=at(59)).next_look == at(60)  # nothing is due, so nobody asks
    assert outcomes(row) == {}
    assert again(row).next_at == at(60)
    assert fire(at(65)) == 1


def test_ticks_that_wait_for_a_slow_rate_are_in_nobodys_way(
    tenant_a: Tenant, tenant_b: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first tick of each row is tried again much later than those behind it, and rows are looked at two at a time."""
    monkeypatch.setattr(release, "ROWS", 2)
    Tenant.objects.filter(pk=tenant_a.pk).update(rate_per_second=0.001, rate_burst=1)
    slow = [recurring(tenant_a, name=f"n{n}", catchup="all") for n in range(3)]
    fire(at(400))
    assert all(outcomes(row)["waits"] >= 4 for row in slow)
    for second in range(405, 480, 5):
        ledger.fire_due(now=at(second))
    quiet = recurring(tenant_b, overlap="buffer_one", queue="quiet", now=at(480))
    fire(at(540))
    fire(at(600))
    run(take(1, now=at(610), queues=["quiet"]), now=at(610))
    for second in range(611, 622):
        ledger.fire_due(now=at(second))
    assert told(quiet) == [("12:09", "fired"), ("12:10", "fired")]
