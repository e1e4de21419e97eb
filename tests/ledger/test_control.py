"""What pausing, resuming and asking are answered with."""

from datetime import timedelta
from typing import Any

import pytest

from scheduling import ledger
from tenants.models import Tenant
from tests.ledger.kit import START, at, pause, put, resume, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_a_receipt_names_the_scope_and_counts_what_still_runs_in_it(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_a, 2, queue="mail", name="x")
    put(tenant_a, queue="mail", name="y")
    put(tenant_b, queue="mail", name="x")
    put(tenant_b, queue="video", name="x")
    take(5)
    receipt = pause(tenant=tenant_a, queue="mail", name="x", reason="spam", by="ada", now=3)
    assert receipt == ledger.Receipt(
        paused=True,
        scope="tenant=tenant-a queue=mail name=x",
        covers="tenant tenant-a, queue mail, task x",
        reason="spam",
        by="ada",
        since=at(3),
        expires_at=None,
        in_flight=2,
        changed=True,
    )
    assert pause(queue="mail").in_flight == 4
    assert pause().scope == "everything"


def test_since_when_is_told_of_each_scope_and_of_whoever_paused_it(tenant_a: Tenant) -> None:
    pause(queue="mail")
    pause(tenant=tenant_a, now=1)
    assert pause(tenant=tenant_a, by_tenant=True, now=2).since == at(2)
    assert pause(tenant=tenant_a, reason="still", now=3).since == at(1)
    assert pause(name="demo.echo", now=4).since == at(4)


def test_resuming_what_is_not_paused_says_that_nobody_changed_anything(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_a)
    take()
    pause(tenant=tenant_b)
    pause(tenant=tenant_a, duration=timedelta(seconds=2))
    assert resume(tenant=tenant_a, by="ada", now=3) == ledger.Receipt(
        paused=False,
        scope="tenant=tenant-a",
        covers="tenant tenant-a",
        reason="",
        by="",
        since=at(3),
        expires_at=None,
        in_flight=1,
        changed=False,
    )
    pause(tenant=tenant_a, now=4)
    receipts = [resume(tenant=tenant_a, by=by, now=5) for by in ("ada", "bob")]
    assert [(receipt.by, receipt.changed) for receipt in receipts] == [("ada", True), ("", False)]


@pytest.mark.parametrize(
    ("wider", "scope"),
    [({}, "everything"), ({"queue": "mail"}, "queue=mail"), ({"name": "x"}, "name=x")],
    ids=["all", "queue", "name"],
)
def test_resuming_a_narrower_scope_tells_of_the_wider_pause_that_stands(
    tenant_a: Tenant, wider: dict[str, Any], scope: str
) -> None:
    pause(reason="migration", **wider)
    pause(tenant=tenant_a, queue="mail", name="x")
    receipt = resume(tenant=tenant_a, queue="mail", name="x", now=1)
    assert (receipt.paused, receipt.scope, receipt.reason) == (True, scope, "migration")
    again = resume(tenant=tenant_a, queue="mail", name="x", now=2)
    assert (receipt.changed, again.changed) == (True, False)
    assert again.since == receipt.since


def test_control_tells_the_widest_pause_over_a_scope(tenant_a: Tenant, tenant_b: Tenant) -> None:
    pause(tenant=tenant_a, queue="mail")
    assert not ledger.control(now=START).paused
    assert not ledger.control(tenant=tenant_a, now=START).paused
    assert not ledger.control(tenant=tenant_b, queue="mail", now=START).paused
    pause(tenant=tenant_b, name="x")
    assert not ledger.control(tenant=tenant_b, now=START).paused
    inside = ledger.control(tenant=tenant_a, queue="mail", name="x", now=START)
    assert (inside.paused, inside.scope) == (True, "tenant=tenant-a queue=mail")
    pause(tenant=tenant_a)
    pause(tenant=tenant_a, name="x")
    widest = ledger.control(tenant=tenant_a, queue="mail", name="x", now=START)
    assert widest.scope == "tenant=tenant-a"


def test_control_tells_of_no_pause_that_is_over() -> None:
    pause(duration=timedelta(seconds=60))
    assert ledger.control(now=at(59)).paused
    assert not ledger.control(now=at(60)).paused
