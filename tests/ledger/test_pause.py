"""The kill switch: nothing of a paused scope starts, everything of it is kept, and all of it runs afterwards."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from scheduling import ledger
from scheduling.ledger.values import Claim
from scheduling.models import Lane, Pause, Schedule
from scheduling.states import Readiness, TaskState
from tenants.models import Tenant
from tests.ledger.kit import NO_DELAY, START, at, failing, put, run, say, take, task
from tests.races.kit import Session

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def pause(*, now: float = 0, **scope: Any) -> ledger.Receipt:
    return ledger.pause(**{"by": "operator", **scope}, now=at(now))


def resume(*, now: float = 0, **scope: Any) -> ledger.Receipt:
    return ledger.resume(**{"by": "operator", **scope}, now=at(now))


def take_all(limit: int = 100, *, now: float = 0) -> list[Claim]:
    """Claim as a worker does: again for as long as there may be more."""
    claims: list[Claim] = []
    ledger.promote(now=at(now))
    while (found := ledger.claim(uuid4(), limit=limit, now=at(now))).claims or found.contended:
        claims += found.claims
    return claims


def run_all(*, now: float = 0) -> set[UUID]:
    return set(run(take_all(now=now), now=at(now)))


# What each scope stops


@pytest.mark.parametrize(
    ("scope", "stopped"),
    [
        ({}, {"a/mail/x", "a/mail/y", "a/video/x", "b/mail/x"}),
        ({"tenant": "a"}, {"a/mail/x", "a/mail/y", "a/video/x"}),
        ({"queue": "mail"}, {"a/mail/x", "a/mail/y", "b/mail/x"}),
        ({"name": "x"}, {"a/mail/x", "a/video/x", "b/mail/x"}),
        ({"tenant": "a", "queue": "mail"}, {"a/mail/x", "a/mail/y"}),
        ({"tenant": "a", "name": "x"}, {"a/mail/x", "a/video/x"}),
        ({"queue": "mail", "name": "x"}, {"a/mail/x", "b/mail/x"}),
        ({"tenant": "a", "queue": "mail", "name": "x"}, {"a/mail/x"}),
        ({"tenant": "b", "queue": "video"}, set()),
    ],
    ids=str,
)
def test_a_pause_stops_what_it_covers_and_nothing_else(
    tenant_a: Tenant, tenant_b: Tenant, scope: dict[str, Any], stopped: set[str]
) -> None:
    tenants = {"a": tenant_a, "b": tenant_b}
    if "tenant" in scope:
        scope = {**scope, "tenant": tenants[scope["tenant"]]}
    work: dict[UUID, str] = {}
    for what in ("a/mail/x", "a/mail/y", "a/video/x", "b/mail/x"):
        tenant, queue, name = what.split("/")
        work[put(tenants[tenant], queue=queue, name=name)[0]] = what
    pause(**scope)
    ran = {work[task_id] for task_id in run_all(now=1)}
    assert ran == set(work.values()) - stopped
    resume(**scope, now=2)
    assert {work[task_id] for task_id in run_all(now=2)} == stopped
    assert not Pause.objects.exists(), "a pause that is over and holds nothing goes"


def test_what_was_enqueued_while_paused_runs_afterwards(tenant_a: Tenant) -> None:
    pause(tenant=tenant_a)
    before = put(tenant_a)
    assert run_all(now=1) == set()
    after = put(tenant_a, now=at(2))
    assert run_all(now=2) == set()
    resume(tenant=tenant_a, now=3)
    assert run_all(now=3) == {*before, *after}


def test_what_became_due_while_paused_runs_afterwards(tenant_a: Tenant) -> None:
    pause(queue="default")
    ids = put(tenant_a, due_at=at(10))
    assert run_all(now=20) == set()
    resume(queue="default", now=21)
    assert run_all(now=21) == set(ids)


def test_what_runs_goes_on_and_its_retry_is_held(tenant_a: Tenant) -> None:
    (task_id,) = put(tenant_a)
    claims = take()
    receipt = pause(name="demo.echo")
    assert receipt.in_flight == 1
    say(claims, failing(retry_in=NO_DELAY), now=at(1))
    assert task(task_id).state == TaskState.QUEUED
    assert run_all(now=2) == set()
    resume(name="demo.echo", now=3)
    assert run_all(now=3) == {task_id}


def test_a_dead_letter_redriven_while_paused_runs_afterwards(tenant_a: Tenant) -> None:
    ids = put(tenant_a)
    say(take(), failing(retry_in=None))
    pause()
    assert ledger.redrive(ids, now=at(1)) == 1
    assert run_all(now=2) == set()
    resume(now=3)
    assert run_all(now=3) == set(ids)


def test_a_paused_task_can_be_cancelled(tenant_a: Tenant) -> None:
    pause(name="demo.echo")
    ids = put(tenant_a, 2)
    take_all()
    ledger.cancel(ids[:1], now=at(1))
    resume(name="demo.echo", now=2)
    assert run_all(now=2) == set(ids[1:])


def test_a_paused_task_that_missed_its_deadline_is_a_dead_letter_afterwards(
    tenant_a: Tenant,
) -> None:
    pause(name="demo.echo")
    (task_id,) = put(tenant_a, deadline=at(10))
    take_all()
    resume(name="demo.echo", now=20)
    assert run_all(now=20) == set()
    assert task(task_id).state == TaskState.DEAD


def test_priority_and_order_are_the_same_after_a_pause(tenant_a: Tenant) -> None:
    pause(name="held")
    low, high = (put(tenant_a, name="held", priority=priority)[0] for priority in (-1, 1))
    (other,) = put(tenant_a, name="other")
    assert run(take_all()) == [other]
    resume(name="held", now=1)
    (middle,) = put(tenant_a, name="other", now=at(1))
    assert run(take(9, now=at(1)), now=at(1)) == [high, middle, low]


# Many held tasks


def test_thousands_of_paused_tasks_stand_in_nobodys_way(tenant_a: Tenant) -> None:
    """More than one claim sets aside, all at the head of the lane, with one other behind them."""
    Tenant.objects.filter(pk=tenant_a.pk).update(rate_per_second=None, max_in_flight=None)
    pause(name="held")
    held = put(tenant_a, 2300, name="held", priority=10)
    (other,) = put(tenant_a, name="other")
    found = ledger.claim(uuid4(), limit=4, now=START)
    assert (found.claims, found.contended) == ([], True)
    assert run_all() == {other}
    assert Schedule.objects.filter(readiness=Readiness.HELD).count() == 2300

    resume(name="held", now=1)
    put_back = [Schedule.objects.filter(readiness=Readiness.READY).count()]
    while ledger.promote(limit=1000, now=at(1)).promoted:
        put_back.append(Schedule.objects.filter(readiness=Readiness.READY).count())
    assert put_back == [1000, 2000, 2300]
    assert run_all(now=1) == set(held)
    assert not Pause.objects.exists()


def test_held_tasks_cost_a_claim_no_second_look(tenant_a: Tenant) -> None:
    pause(name="held")
    put(tenant_a, 5, name="held")
    take_all()
    assert not Schedule.objects.filter(readiness=Readiness.READY).exists()
    assert ledger.claim(uuid4(), limit=4, now=START) == ledger.Claims([], contended=False)


def test_a_paused_lane_costs_a_claim_no_second_look(tenant_a: Tenant) -> None:
    pause(tenant=tenant_a)
    put(tenant_a, 5)
    take_all()
    assert not Lane.objects.filter(readiness=Readiness.READY).exists()
    assert ledger.claim(uuid4(), limit=4, now=START) == ledger.Claims([], contended=False)


# How long


def test_a_pause_with_an_end_ends_by_itself(tenant_a: Tenant) -> None:
    receipt = pause(queue="default", duration=timedelta(seconds=60))
    assert receipt.expires_at == at(60)
    ids = put(tenant_a, 3)
    assert run_all(now=59.9) == set()
    assert run_all(now=60) == set(ids)
    assert not Pause.objects.exists()


def test_a_pause_of_a_name_with_an_end_gives_back_what_it_held(tenant_a: Tenant) -> None:
    pause(name="demo.echo", duration=timedelta(seconds=60))
    ids = put(tenant_a, 3)
    assert run_all(now=59.9) == set()
    assert Schedule.objects.filter(readiness=Readiness.HELD).count() == 3
    assert run_all(now=60) == set(ids)


def test_a_clock_set_back_resumes_nothing(tenant_a: Tenant) -> None:
    pause(duration=timedelta(seconds=60))
    put(tenant_a)
    assert run_all(now=-3600) == set()


def test_pausing_again_keeps_since_and_replaces_the_rest(tenant_a: Tenant) -> None:
    pause(queue="mail", reason="spam", by="ada", duration=timedelta(seconds=60))
    again = pause(queue="mail", reason="more spam", by="bob", now=5)
    assert (again.since, again.reason, again.by) == (START, "more spam", "bob")
    assert again.expires_at is None
    assert Pause.objects.count() == 1


def test_pausing_after_a_pause_was_over_begins_anew(tenant_a: Tenant) -> None:
    pause(queue="mail", duration=timedelta(seconds=60))
    assert pause(queue="mail", now=100).since == at(100)


def test_pausing_and_resuming_back_and_forth_loses_nothing(tenant_a: Tenant) -> None:
    ids = put(tenant_a, 3)
    for second in range(5):
        pause(name="demo.echo", now=second)
        assert run_all(now=second) == set()
        resume(name="demo.echo", now=second)
    assert run_all(now=5) == set(ids)


# Pauses on top of each other


@pytest.mark.parametrize(
    ("wider", "narrower"),
    [
        ({}, {"queue": "default"}),
        ({}, {"name": "demo.echo"}),
        ({"queue": "default"}, {"queue": "default", "name": "demo.echo"}),
        ({"name": "demo.echo"}, {"queue": "default", "name": "demo.echo"}),
        ({"name": "demo.echo"}, {"queue": "default"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("first", ["wider", "narrower"])
def test_what_two_pauses_cover_waits_for_both_to_be_lifted(
    tenant_a: Tenant, wider: dict[str, Any], narrower: dict[str, Any], first: str
) -> None:
    ids = put(tenant_a, 2)
    pause(**wider)
    pause(**narrower)
    assert run_all(now=1) == set()
    lifted, standing = (wider, narrower) if first == "wider" else (narrower, wider)
    resume(**lifted, now=2)
    assert run_all(now=3) == set()
    resume(**standing, now=4)
    assert run_all(now=5) == set(ids)
    assert not Pause.objects.exists()


def test_lifting_one_tenants_pause_leaves_the_others_alone(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    of_a, of_b = put(tenant_a), put(tenant_b)
    pause(tenant=tenant_a)
    pause(tenant=tenant_b)
    take_all()
    resume(tenant=tenant_a, now=1)
    assert run_all(now=1) == set(of_a)
    resume(tenant=tenant_b, now=2)
    assert run_all(now=2) == set(of_b)


def test_a_tenant_cannot_lift_what_an_operator_paused(tenant_a: Tenant) -> None:
    ids = put(tenant_a)
    pause(tenant=tenant_a)
    receipt = resume(tenant=tenant_a, by="tenant-a", by_tenant=True, now=1)
    assert (receipt.paused, receipt.by) == (True, "operator")
    assert run_all(now=1) == set()
    resume(tenant=tenant_a, now=2)
    assert run_all(now=2) == set(ids)


def test_what_operator_and_tenant_paused_waits_for_both(tenant_a: Tenant) -> None:
    ids = put(tenant_a)
    pause(tenant=tenant_a, by="tenant-a", by_tenant=True)
    pause(tenant=tenant_a, duration=timedelta(seconds=10))
    assert run_all(now=11) == set()
    resume(tenant=tenant_a, by="tenant-a", by_tenant=True, now=12)
    assert run_all(now=12) == set(ids)


def test_an_operator_lifts_what_a_tenant_paused(tenant_a: Tenant) -> None:
    ids = put(tenant_a)
    pause(tenant=tenant_a, by="tenant-a", by_tenant=True)
    assert not resume(tenant=tenant_a, now=1).paused
    assert run_all(now=1) == set(ids)


# What the receipts tell


def test_a_receipt_names_the_scope_and_counts_what_still_runs_in_it(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    put(tenant_a, 2, queue="mail", name="x")
    put(tenant_a, queue="mail", name="y")
    put(tenant_b, queue="mail", name="x")
    take(4)
    receipt = pause(tenant=tenant_a, queue="mail", name="x", reason="spam", by="ada", now=3)
    assert receipt == ledger.Receipt(
        paused=True,
        scope="tenant=tenant-a queue=mail name=x",
        reason="spam",
        by="ada",
        since=at(3),
        expires_at=None,
        in_flight=2,
    )
    assert pause(queue="mail").in_flight == 4
    assert pause().scope == "everything"


def test_resuming_what_is_not_paused_says_so_all_the_same(tenant_a: Tenant) -> None:
    put(tenant_a)
    take()
    assert resume(tenant=tenant_a, by="ada", now=3) == ledger.Receipt(
        paused=False,
        scope="tenant=tenant-a",
        reason="",
        by="ada",
        since=at(3),
        expires_at=None,
        in_flight=1,
    )


def test_resuming_a_narrower_scope_tells_of_the_wider_pause_that_stands(tenant_a: Tenant) -> None:
    pause(reason="migration")
    pause(tenant=tenant_a)
    receipt = resume(tenant=tenant_a, now=1)
    assert (receipt.paused, receipt.scope, receipt.reason) == (True, "everything", "migration")


def test_control_tells_the_widest_pause_over_a_scope(tenant_a: Tenant, tenant_b: Tenant) -> None:
    pause(tenant=tenant_a, queue="mail")
    assert not ledger.control(now=START).paused
    assert not ledger.control(tenant=tenant_a, now=START).paused
    assert not ledger.control(tenant=tenant_b, queue="mail", now=START).paused
    inside = ledger.control(tenant=tenant_a, queue="mail", name="x", now=START)
    assert (inside.paused, inside.scope) == (True, "tenant=tenant-a queue=mail")
    pause(tenant=tenant_a)
    assert ledger.control(tenant=tenant_a, queue="mail", now=START).scope == "tenant=tenant-a"


def test_control_tells_of_no_pause_that_is_over() -> None:
    pause(duration=timedelta(seconds=60))
    assert ledger.control(now=at(59)).paused
    assert not ledger.control(now=at(60)).paused


@pytest.mark.skipif(
    not connection.features.has_select_for_update_skip_locked,
    reason="With one writer at a time, nobody cancels while something is put back.",
)
def test_a_held_task_whose_cancellation_rolls_back_meanwhile_is_not_forgotten(
    tenant_a: Tenant,
) -> None:
    ids = put(tenant_a)
    pause(name="demo.echo")
    assert run_all(now=1) == set()
    with Session() as canceller, canceller.transaction():
        canceller.do(partial(ledger.cancel, ids, now=at(2)))
        resume(name="demo.echo", now=3)
        canceller.do(partial(transaction.set_rollback, True))
    assert run_all(now=4) == set(ids)
    assert not Pause.objects.exists()
