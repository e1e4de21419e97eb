"""The kill switch: nothing of a paused scope starts, everything of it is kept, and all of it runs afterwards."""

from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from scheduling import ledger
from scheduling.models import Lane, Pause, Schedule
from scheduling.states import Readiness, TaskState
from tenants.models import Tenant
from tests.ledger.kit import (
    NO_DELAY,
    START,
    at,
    failing,
    pause,
    put,
    resume,
    run,
    run_all,
    say,
    take,
    take_all,
    task,
)
from tests.races.kit import Session

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


@pytest.mark.parametrize(
    ("scope", "stopped"),
    [
        ({}, ["a/mail/x", "a/mail/y", "a/video/x", "b/mail/x"]),
        ({"tenant": "a"}, ["a/mail/x", "a/mail/y", "a/video/x"]),
        ({"queue": "mail"}, ["a/mail/x", "a/mail/y", "b/mail/x"]),
        ({"name": "x"}, ["a/mail/x", "a/video/x", "b/mail/x"]),
        ({"tenant": "a", "queue": "mail"}, ["a/mail/x", "a/mail/y"]),
        ({"tenant": "a", "name": "x"}, ["a/mail/x", "a/video/x"]),
        ({"queue": "mail", "name": "x"}, ["a/mail/x", "b/mail/x"]),
        ({"tenant": "a", "queue": "mail", "name": "x"}, ["a/mail/x"]),
        ({"tenant": "b", "queue": "video"}, []),
    ],
    ids=str,
)
def test_a_pause_stops_what_it_covers_and_nothing_else(
    tenant_a: Tenant, tenant_b: Tenant, scope: dict[str, Any], stopped: list[str]
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
    assert ran == set(work.values()) - set(stopped)
    resume(**scope, now=2)
    assert {work[task_id] for task_id in run_all(now=2)} == set(stopped)
    assert not Pause.objects.exists(), "a pause that is over and holds nothing goes"


def test_the_claim_after_one_that_met_a_pause_finds_all_else(tenant_a: Tenant) -> None:
    put(tenant_a, queue="mail")
    others = put(tenant_a, 2, queue="video")
    pause(queue="mail")
    assert [*run(take()), *run(take())] == others


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


def test_a_claim_that_found_some_says_that_it_could_not_look_behind_paused_ones(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("scheduling.ledger.claim"), "MOST_HELD_AT_ONCE", 2)
    pause(name="held")
    (behind,) = put(tenant_a, queue="x")
    put(tenant_a, 2, name="held", queue="x", priority=10)
    (beside,) = put(tenant_a, queue="y")
    found = ledger.claim(uuid4(), limit=4, now=START)
    assert (run(found.claims), found.contended) == ([beside], True)
    found = ledger.claim(uuid4(), limit=4, now=START)
    assert (run(found.claims), found.contended) == ([behind], False)


def test_what_was_put_back_runs_while_the_rest_is_still_to_be(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("scheduling.ledger.control"), "CHUNK", 1)
    ids = put(tenant_a, 3)
    pause(name="demo.echo")
    take_all()
    resume(name="demo.echo", now=1)
    assert run(ledger.claim(uuid4(), limit=9, now=at(1)).claims, now=at(1)) == ids[:1]
    assert Schedule.objects.filter(readiness=Readiness.HELD).count() == 2


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


def test_a_pause_of_everything_sets_nothing_aside(tenant_a: Tenant) -> None:
    """Whatever waits, there is nothing to put back when it is lifted."""
    put(tenant_a)
    pause()
    assert take_all() == []
    assert Lane.objects.get().readiness == Readiness.READY


# How long


def test_a_pause_with_an_end_ends_by_itself(tenant_a: Tenant) -> None:
    receipt = pause(queue="default", duration=timedelta(seconds=60))
    assert receipt.expires_at == at(60)
    ids = put(tenant_a, 3)
    assert run_all(now=59.9) == set()
    assert run_all(now=60) == set(ids)
    assert not Pause.objects.exists()


def test_a_pause_that_ended_holds_nobody_up_before_it_is_cleared(tenant_a: Tenant) -> None:
    ledger.pause(name="demo.echo", by="operator", duration=timedelta(seconds=60), now=START)
    ids = put(tenant_a)
    assert run(ledger.claim(uuid4(), limit=1, now=at(60)).claims, now=at(60)) == ids


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
