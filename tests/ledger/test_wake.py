"""Who waits for work hears of it when it is committed, and of nothing else."""

import select
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from scheduling import ledger, sweeps
from scheduling.audit import Actor, Via
from scheduling.ledger import wake
from scheduling.ledger.dialects import Listener
from scheduling.ledger.dialects.sqlite import fifos
from scheduling.models import Sweep
from tenants.models import Tenant
from tests.ledger.kit import NO_DELAY, START, at, failing, new, pause, put, resume, say, take

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

LONGEST = 20.0
"""Seconds until a wake-up that never comes fails its test."""


@pytest.fixture
def listener(db: None) -> Iterator[Listener]:
    one = wake.listen()
    yield one
    one.close()


def heard(listener: Listener) -> set[str]:
    """Everything that was woken so far. One more wake-up is sent, and says when that is all."""
    with transaction.atomic():
        wake.after_commit("pause")
    topics: set[str] = set()
    while "pause" not in topics:
        assert select.select([listener.fileno()], [], [], LONGEST)[0], "nobody was woken"
        topics |= listener.drain()
    return topics - {"pause"}


def test_nothing_is_heard_while_nothing_happens(listener: Listener) -> None:
    assert listener.drain() == set()
    assert heard(listener) == set()


def test_a_sweep_that_begins_wakes(listener: Listener) -> None:
    actor = Actor("ana", Via.CONSOLE)
    sweeps.begin(Sweep.Operation.REDRIVE, {}, which="all dead letters", by=actor)
    assert heard(listener) == {"sweep"}


def test_work_in_an_idle_lane_wakes(tenant_a: Tenant, listener: Listener) -> None:
    put(tenant_a)
    assert heard(listener) == {"work"}


def test_work_in_a_lane_that_fell_idle_wakes_again(tenant_a: Tenant, listener: Listener) -> None:
    put(tenant_a)
    take(2)
    heard(listener)
    put(tenant_a)
    assert heard(listener) == {"work"}


@pytest.mark.parametrize("together", [1, 2])
def test_work_in_a_busy_lane_wakes_nobody(
    tenant_a: Tenant, listener: Listener, together: int
) -> None:
    """A worker that waits has found every lane empty, so nobody waits while one is ready."""
    put(tenant_a)
    heard(listener)
    put(tenant_a, together)
    assert heard(listener) == set()


def test_work_that_rolls_back_wakes_nobody(tenant_a: Tenant, listener: Listener) -> None:
    with transaction.atomic():
        put(tenant_a)
        transaction.set_rollback(True)
    assert heard(listener) == set()


def test_work_is_heard_of_only_when_it_is_committed(tenant_a: Tenant, listener: Listener) -> None:
    with transaction.atomic():
        put(tenant_a)
        assert not select.select([listener.fileno()], [], [], 0)[0]
    assert heard(listener) == {"work"}


def test_what_is_due_before_the_next_slow_look_wakes(tenant_a: Tenant, listener: Listener) -> None:
    for _ in ("a new lane", "a known one"):
        put(tenant_a, due_at=START + wake.SLOWEST_LOOK)
        assert heard(listener) == {"due"}


def test_one_of_a_batch_that_is_due_before_the_next_slow_look_wakes(
    tenant_a: Tenant, listener: Listener
) -> None:
    ledger.enqueue(
        [new(tenant_a, due_at=START + wake.SLOWEST_LOOK), new(tenant_a, due_at=at(60))], now=START
    )
    assert heard(listener) == {"due"}


def test_what_is_due_after_the_next_slow_look_wakes_nobody(
    tenant_a: Tenant, listener: Listener
) -> None:
    for _ in ("a new lane", "a known one"):
        put(tenant_a, due_at=START + wake.SLOWEST_LOOK + timedelta(milliseconds=1))
        assert heard(listener) == set()


def test_a_promotion_wakes(tenant_a: Tenant, listener: Listener) -> None:
    put(tenant_a, due_at=at(60))
    ledger.promote(now=at(60))
    assert heard(listener) == {"work"}


@pytest.mark.parametrize(("wait", "topic"), [(NO_DELAY, "work"), (wake.SLOWEST_LOOK / 2, "due")])
def test_a_retry_wakes(tenant_a: Tenant, listener: Listener, wait: timedelta, topic: str) -> None:
    put(tenant_a)
    claims = take(2)
    heard(listener)
    say(claims, failing(retry_in=wait))
    assert heard(listener) == {topic}


def test_what_is_rescheduled_wakes_when_it_is_due_soon(
    tenant_a: Tenant, listener: Listener
) -> None:
    ids = put(tenant_a, due_at=at(3600))
    ledger.reschedule(ids, due_at=at(1800), now=START)
    assert heard(listener) == set()
    ledger.reschedule(ids, due_at=START, now=START)
    assert heard(listener) == {"due"}


def test_a_redriven_dead_letter_wakes(tenant_a: Tenant, listener: Listener) -> None:
    ids = put(tenant_a)
    say(take(2), failing(retry_in=None))
    heard(listener)
    ledger.redrive(ids, now=START)
    assert heard(listener) == {"work"}


def test_cancelling_what_runs_wakes_and_what_waits_does_not(
    tenant_a: Tenant, listener: Listener
) -> None:
    running, waiting = put(tenant_a, 2)
    take()
    heard(listener)
    ledger.cancel([waiting], now=START)
    assert heard(listener) == set()
    ledger.cancel([running], now=START)
    assert heard(listener) == {"cancel"}


def test_a_pause_wakes(listener: Listener) -> None:
    pause()
    assert select.select([listener.fileno()], [], [], LONGEST)[0]
    assert listener.drain() == {"pause"}


@pytest.mark.parametrize("scope", [{"queue": "default"}, {"name": "demo.echo"}], ids=str)
def test_resuming_what_was_held_wakes(
    tenant_a: Tenant, listener: Listener, scope: dict[str, Any]
) -> None:
    put(tenant_a)
    pause(**scope)
    take()
    heard(listener)
    resume(**scope)
    assert heard(listener) == {"work"}


def test_everybody_who_listens_hears(tenant_a: Tenant, listener: Listener) -> None:
    another = wake.listen()
    put(tenant_a)
    assert heard(listener) == heard(another) == {"work"}
    another.close()


def test_who_stopped_listening_is_in_nobodys_way(tenant_a: Tenant, listener: Listener) -> None:
    wake.listen().close()
    put(tenant_a)
    assert heard(listener) == {"work"}


def test_a_wake_up_that_fails_takes_back_nothing_that_is_committed(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite the bell rings after the commit, where an error would pass for a refusal."""

    def no_more_files(ledger: str, topic: str) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(fifos, "wake", no_more_files)
    put(tenant_a)
    assert len(take()) == 1
