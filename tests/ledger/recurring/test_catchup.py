"""Scenario 38: what becomes of ticks that came while nobody was there to fire them."""

from datetime import timedelta

import pytest

from scheduling import ledger
from scheduling.models import Tick
from scheduling.policies import PUNCTUAL
from tenants.models import Tenant
from tests.ledger.kit import START, at
from tests.ledger.recurring.kit import (
    again,
    fire,
    outcomes,
    reasons,
    recurring,
    told,
    utc,
    work_off,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

DOWN, UP = utc("2027-01-04T10:02"), utc("2027-01-04T13:02")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("none", {"skipped_catchup": 36}),
        ("one", {"coalesced": 35, "fired": 1}),
        ("all", {"fired": 36}),
    ],
)
def test_three_hours_without_a_worker(
    tenant_a: Tenant, policy: str, expected: dict[str, int]
) -> None:
    row = recurring(tenant_a, cron="*/5 * * * *", catchup=policy, overlap="allow", now=DOWN)
    fire(UP)
    assert outcomes(row) == expected
    assert again(row).next_at == utc("2027-01-04T13:05")
    assert fire(UP) == 0


def test_one_makes_up_for_the_newest(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, cron="*/5 * * * *", catchup="one", now=DOWN)
    fire(UP)
    assert told(row, outcome="fired") == [("13:00", "fired")]


def test_all_are_made_up_for_one_after_the_other_where_they_may_not_overlap(
    tenant_a: Tenant,
) -> None:
    row = recurring(tenant_a, cron="*/5 * * * *", catchup="all", overlap="skip", now=DOWN)
    fire(UP)
    assert outcomes(row) == {"fired": 1, "waits": 35}
    ran = 0
    for second in range(1, 40):
        ran += work_off(UP + timedelta(seconds=second))
        fire(UP + timedelta(seconds=second))
    assert ran == 36
    assert outcomes(row) == {"fired": 36}
    fired = Tick.objects.filter(recurring=row).order_by("task_id").values_list("at", flat=True)
    assert list(fired) == sorted(fired)


def test_a_tick_that_comes_while_others_are_made_up_for_is_skipped_as_ever(
    tenant_a: Tenant,
) -> None:
    row = recurring(tenant_a, cron="*/5 * * * *", catchup="all", overlap="skip", now=DOWN)
    fire(UP)
    fire(utc("2027-01-04T13:05"))
    assert told(row)[-1] == ("13:05", "skipped_overlap")


def test_beyond_its_window_a_tick_is_missed(tenant_a: Tenant) -> None:
    row = recurring(
        tenant_a,
        cron="*/5 * * * *",
        catchup="all",
        catchup_window_seconds=3600,
        overlap="allow",
        now=DOWN,
    )
    fire(UP)
    assert outcomes(row) == {"missed": 24, "fired": 12}
    assert reasons(row)[0] == "Nobody fired it within its catch-up window of 1h."


@pytest.mark.parametrize("policy", ["none", "one", "all"])
def test_a_restart_just_before_a_tick_costs_nothing(tenant_a: Tenant, policy: str) -> None:
    row = recurring(tenant_a, cron="*/5 * * * *", catchup=policy, now=DOWN)
    fire(utc("2027-01-04T10:05") + PUNCTUAL - timedelta(seconds=1))
    assert told(row) == [("10:05", "fired")]


@pytest.mark.parametrize("policy", ["none", "one", "all"])
def test_what_came_while_it_was_paused_is_not_made_up_for(tenant_a: Tenant, policy: str) -> None:
    row = recurring(tenant_a, cron="*/5 * * * *", catchup=policy, now=DOWN)
    ledger.pause_recurring(row.pk, True, reason="too loud", now=DOWN)
    assert fire(UP) == 0
    ledger.pause_recurring(row.pk, False, now=UP)
    assert fire(UP) == 0
    assert outcomes(row) == {"missed": 36}
    assert set(reasons(row)) == {"It was paused: too loud"}
    assert fire(utc("2027-01-04T13:05")) == 1


def test_a_year_without_a_worker_is_accounted_for_in_short_looks(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, catchup="one")
    now = at(60 * 5000)
    first = ledger.fire_due(now=now)
    assert (first.fired, first.looked_at) == (0, 1)
    fire(now)
    assert outcomes(row) == {"missed": 3559, "coalesced": 1440, "fired": 1}
    assert Tick.objects.count() < 200
    assert again(row).next_at == now + timedelta(minutes=1)


def test_what_is_due_now_does_not_wait_for_what_lay_still(tenant_a: Tenant) -> None:
    now = at(60 * 5000)
    old = [recurring(tenant_a, name=f"old{n}", catchup="none") for n in range(3)]
    fresh = recurring(tenant_a, name="fresh", now=now - timedelta(seconds=30))
    assert ledger.fire_due(now=now).fired == 1
    assert told(fresh) == [("23:20", "fired")]
    fire(now)
    assert [outcomes(row) for row in old] == [{"skipped_catchup": 4999, "fired": 1}] * 3


def test_rows_that_are_due_every_second_hold_up_no_other(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    """One tenant has so many that a second is too short for them. A look is as large as two of them."""
    quiet = recurring(tenant_b, name="quiet")
    loud = [recurring(tenant_a, name=f"n{n}", every_seconds=1) for n in range(6)]
    for second in range(58, 70):
        ledger.fire_due(now=at(second), limit=2)
    assert told(quiet) == [("12:01", "fired")]
    assert all((again(row).last_at or START) >= at(65) for row in loud)
