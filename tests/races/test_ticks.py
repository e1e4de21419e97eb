"""Firing by many at once, and beside whatever else is done to a recurring task: each tick makes one task."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from django.db import connection
from pytest_django import Settings

from scheduling import ledger
from scheduling.errors import Changed, Overlapping, TooManyRecurring, UnknownRecurring
from scheduling.models import RecurringTask, Task, Tick
from tenants.models import Tenant
from tests import waiting
from tests.ledger.kit import at
from tests.ledger.recurring.kit import again, fire, outcomes, recurring, told, work_off
from tests.races.kit import LONGEST, Session, many_at_once, roll_back
from tests.races.processes import processes_at_once
from tests.races.work import fire_minute_by_minute

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

NO_LIMITS = {"max_queued": None, "rate_per_second": None}


@contextmanager
def held_open(session: Session, verb: Callable[..., object]) -> Iterator[None]:
    """The verb is done there, by a transaction of its own that commits at the end of the block."""
    is_done, may_commit = Event(), Event()

    def hold(_: object) -> None:
        is_done.set()
        assert may_commit.wait(LONGEST)

    doing = session.start(partial(verb, beside=hold))
    waiting.until(lambda: is_done.is_set() or doing.done(), what="for the verb to be done")
    try:
        yield
    finally:
        may_commit.set()
    doing.result(LONGEST)


def test_five_processes_make_exactly_one_task_of_each_tick(
    tenant_a: Tenant, tenant_b: Tenant, tmp_path: Path
) -> None:
    """Scenario 39: 200 minutely schedules, ten minutes, one clock three seconds ahead."""
    Tenant.objects.update(**NO_LIMITS)
    for number in range(100):
        for tenant in (tenant_a, tenant_b):
            recurring(tenant, name=f"n{number}", overlap="allow", catchup="all")

    fired = processes_at_once(
        5, partial(fire_minute_by_minute, at(60), 10, str(tmp_path / "ahead"))
    )

    assert sum(map(sum, fired)) == 2000
    assert Task.objects.count() == 2000
    assert Tick.objects.filter(outcome="fired").count() == 2000


def test_one_fires_a_row_and_another_passes_it_by(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    with Session() as one, Session() as two:
        with one.transaction():
            assert one.do(partial(ledger.fire_due, now=at(60))).fired == 1
            second = two.start(partial(ledger.fire_due, now=at(60)))
            if connection.vendor == "postgresql":
                assert second.result().fired == 0  # while the first one is still at it
            two.wait_for_a_lock_or(second)
        assert second.result().fired == 0
    assert told(row) == [("12:01", "fired")]


def test_a_firing_that_came_to_nothing_leaves_the_tick_to_the_next(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    with Session() as one, one.transaction():
        assert one.do(partial(ledger.fire_due, now=at(60))).fired == 1
        one.do(roll_back)
    assert Task.objects.count() == 0
    assert fire(at(60)) == 1
    assert told(row) == [("12:01", "fired")]


def test_an_edit_waits_for_a_firing_and_finds_its_tick_accounted_for(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    with Session() as one, Session() as two:
        with one.transaction():
            one.do(partial(ledger.fire_due, now=at(60)))
            editing = two.start_and_wait_for_a_lock(
                partial(ledger.edit_recurring, row.pk, {"cron": "*/5 * * * *"}, now=at(61))
            )
        assert editing.result().next_at == at(300)
    assert told(row) == [("12:01", "fired")]
    fire(at(120))
    assert told(row) == [("12:01", "fired")]


def test_of_two_edits_of_one_edition_the_second_is_told(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    with Session() as one, Session() as two:
        first = partial(ledger.edit_recurring, row.pk, {"priority": 1}, version=row.version)
        with held_open(one, first):
            edit = partial(ledger.edit_recurring, row.pk, {"priority": 2}, version=row.version)
            second = two.start(edit)
            two.wait_for_a_lock_or(second)
        with pytest.raises(Changed):
            second.result()
    assert RecurringTask.objects.get().priority == 1


def test_a_firing_finds_a_row_as_the_edit_left_it(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    with Session() as one, Session() as two:
        edit = partial(ledger.edit_recurring, row.pk, {"cron": "*/5 * * * *"}, now=at(59))
        with held_open(one, edit):
            firing = two.start(partial(ledger.fire_due, now=at(60)))
            two.wait_for_a_lock_or(firing)
        assert firing.result().fired == 0
    fire(at(61))
    assert told(row) == []
    assert again(row).next_at == at(300)


def test_a_pause_waits_for_a_firing_and_nothing_fires_after_it(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow")
    with Session() as one, Session() as two:
        with one.transaction():
            one.do(partial(ledger.fire_due, now=at(60)))
            pausing = two.start_and_wait_for_a_lock(
                partial(ledger.pause_recurring, row.pk, True, now=at(61))
            )
        assert pausing.result().paused
    assert fire(at(120)) == 0
    assert outcomes(row) == {"fired": 1}


def test_a_deletion_waits_for_a_firing_whose_task_stays(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    with Session() as one, Session() as two:
        with one.transaction():
            one.do(partial(ledger.fire_due, now=at(60)))
            deleting = two.start_and_wait_for_a_lock(partial(ledger.delete_recurring, row.pk))
        deleting.result()
    assert not RecurringTask.objects.exists()
    assert not Tick.objects.exists()
    assert work_off(at(61)) == 1


def test_extra_runs_at_once_are_one_where_one_may_run(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)

    def run() -> bool:
        try:
            ledger.run_now(row.pk, now=at(1))
        except Overlapping:
            return False
        return True

    assert sum(many_at_once(4, run)) == 1


def test_two_creations_at_once_do_not_both_take_the_last_place(
    tenant_a: Tenant, settings: Settings
) -> None:
    settings.RENTROLL = settings.RENTROLL | {"TENANT_MAX_RECURRING": 1}
    with Session() as one, Session() as two:
        with one.transaction():
            one.do(partial(recurring, tenant_a, name="first"))
            second = two.start_and_wait_for_a_lock(partial(recurring, tenant_a, name="second"))
        with pytest.raises(TooManyRecurring):
            second.result()
    assert RecurringTask.objects.get().name == "first"


def test_two_backfills_at_once_make_up_once(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow", now=at(600))
    done = many_at_once(2, partial(ledger.backfill, row.pk, at(60), at(600), now=at(601)))
    fire(at(602))
    assert sorted(len(one.missing) for one in done) == [0, 10]
    assert Task.objects.count() == 10


def test_an_extra_run_of_what_was_just_deleted_is_told_so(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    ledger.delete_recurring(row.pk)
    with pytest.raises(UnknownRecurring):
        ledger.run_now(row.pk, now=at(1))
