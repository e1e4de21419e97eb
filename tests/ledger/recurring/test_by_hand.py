"""Runs that somebody asks for beside the rule."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from scheduling import ledger
from scheduling.errors import InvalidTask, LimitExceeded, Overlapping, UnknownRecurring
from scheduling.ids import uuid7
from scheduling.models import RecurringTask, Task, Tick
from tenants.models import Tenant
from tests.ledger.kit import START, at, run
from tests.ledger.recurring.kit import again, fire, outcomes, recurring, start_one, told, work_off

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]


def test_an_extra_run_is_accounted_for_and_shifts_no_tick(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow")
    task_id = ledger.run_now(row.pk, now=at(60))
    assert Tick.objects.get().origin == "run_now"
    assert Tick.objects.get().task_id == task_id
    fire(at(60))
    assert told(row, origin="rule") == [("12:01", "fired")]
    assert again(row).next_at == at(120)


def test_the_last_tick_is_the_last_there_is_whoever_wanted_it(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow")
    assert again(row).last_at is None
    ledger.backfill(row.pk, at(-120), at(-60), now=at(1))
    assert again(row).last_at == at(-60)
    ledger.run_now(row.pk, now=at(62))
    fire(at(63))
    assert told(row, origin="rule") == [("12:01", "fired")]
    assert again(row).last_at == at(62)
    fire(at(120))
    assert again(row).last_at == at(120)
    ledger.backfill(row.pk, at(-180), at(-180), now=at(121))
    assert again(row).last_at == at(120)


def test_three_extra_runs_in_one_instant_are_three(tenant_a: Tenant) -> None:
    row, other = (recurring(tenant_a, name=name, overlap="allow") for name in ("row", "other"))
    ledger.run_now(other.pk, now=at(60))
    fire(at(60))
    ledger.run_now(row.pk, now=at(1))
    for _ in range(3):
        ledger.run_now(row.pk, now=at(60))
    instants = Tick.objects.filter(recurring=row, origin="run_now").order_by("at")
    assert list(instants.values_list("at", flat=True)) == [
        at(1),
        *(at(60) + microseconds * timedelta(microseconds=1) for microseconds in range(3)),
    ]


def test_an_extra_run_leaves_the_tasks_of_other_rows_alone(tenant_a: Tenant) -> None:
    mine, other = (
        recurring(tenant_a, name=name, overlap="cancel_other") for name in ("mine", "other")
    )
    ledger.run_now(other.pk, now=at(1))
    ledger.run_now(mine.pk, now=at(2))
    assert work_off(at(3)) == 2


def test_what_runs_or_waits_of_other_rows_is_in_no_extra_runs_way(tenant_a: Tenant) -> None:
    other = recurring(tenant_a, name="other", overlap="buffer_one")
    mine = recurring(tenant_a, name="mine", now=at(120))
    for tick in (60, 120):
        fire(at(tick))
    assert outcomes(other) == {"fired": 1, "waits": 1}
    ledger.run_now(mine.pk, now=at(121))


def test_a_tick_that_waits_for_its_turn_comes_before_an_extra_run(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="buffer_one")
    for tick in (60, 120):
        fire(at(tick))
    work_off(at(121))
    with pytest.raises(Overlapping):
        ledger.run_now(row.pk, now=at(122))


def test_an_extra_run_needs_no_resumption(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, paused=True)
    ledger.run_now(row.pk, now=at(1))
    assert work_off(at(2)) == 1


def test_an_extra_run_that_cancels_others_waits_for_them_to_stop(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="cancel_other")
    ledger.run_now(row.pk, now=at(1))
    ledger.run_now(row.pk, now=at(2))  # the first had not started
    start_one(at(3))
    with pytest.raises(Overlapping):
        ledger.run_now(row.pk, now=at(4))
    assert Task.objects.filter(state="running", cancel_requested_at__isnull=False).exists()


def test_a_limit_refuses_an_extra_run_and_nothing_is_kept(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow")
    Tenant.objects.update(max_queued=1)
    ledger.run_now(row.pk, now=at(1))
    with pytest.raises(LimitExceeded):
        ledger.run_now(row.pk, now=at(2))
    assert outcomes(row) == {"fired": 1}


def test_an_unreadable_payload_is_told_to_who_asks(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    RecurringTask.objects.update(payload=[])
    with pytest.raises(InvalidTask, match="payload"):
        ledger.run_now(row.pk, now=at(1))


def test_a_backfill_makes_up_for_what_has_no_task_and_for_nothing_twice(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow", catchup="none")
    fire(at(299))  # 12:04 in time, and three before
    done = ledger.backfill(row.pk, at(0), at(600), now=at(300))
    assert list(done.fired) == [START, at(60), at(120), at(180)]
    assert (done.left_alone, done.goes_on_from) == (1, None)
    again_done = ledger.backfill(row.pk, at(0), at(600), now=at(301))
    assert (list(again_done.missing), again_done.left_alone) == ([], 5)
    assert outcomes(row) == {"skipped_catchup": 3, "fired": 5}
    fire(at(300))
    assert told(row)[-1] == ("12:05", "fired")


def test_a_backfill_that_may_not_overlap_runs_one_after_the_other(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, cron="0 * * * *")
    done = ledger.backfill(row.pk, at(-3600 * 5), at(-3600), now=at(1))
    assert (len(done.fired), len(done.waiting)) == (1, 4)
    for second in range(2, 10):
        assert work_off(at(second)) <= 1
        fire(at(second))
    assert outcomes(row) == {"fired": 5}


def test_a_backfill_goes_on_where_it_stopped(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow", now=at(600))
    first = ledger.backfill(row.pk, at(60), at(300), limit=2, now=at(601))
    assert first.goes_on_from == at(180)
    rest = ledger.backfill(row.pk, first.goes_on_from, at(300), now=at(602))
    assert (len(rest.fired), rest.goes_on_from) == (3, None)


def test_a_backfill_of_a_paused_one_waits_until_it_is_resumed(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow", now=at(600))
    ledger.pause_recurring(row.pk, True, now=at(601))
    assert len(ledger.backfill(row.pk, at(60), at(120), now=at(602)).waiting) == 2
    fire(at(603))
    ledger.pause_recurring(row.pk, False, now=at(604))
    assert fire(at(605)) == 2


def test_a_backfill_does_what_its_preview_says(tenant_a: Tenant) -> None:
    recurring(tenant_a, name="another", cron="0 * * * *")
    row = recurring(tenant_a, overlap="allow", now=at(600))
    shown = ledger.backfill_preview(row.pk, at(60), at(300), limit=3)
    assert (shown.fired, shown.waiting, Tick.objects.count()) == ((), (), 0)
    done = ledger.backfill(row.pk, at(60), at(300), limit=3, now=at(601))
    assert (shown.missing, shown.goes_on_from) == (done.missing, done.goes_on_from)
    nothing = ledger.backfill_preview(row.pk, at(61), at(62))
    assert (list(nothing.missing), nothing.left_alone) == ([], 0)


def test_a_backfill_counts_nothing_of_another_row(tenant_a: Tenant) -> None:
    other, mine = (
        recurring(tenant_a, name=name, overlap="allow", now=at(600)) for name in ("other", "mine")
    )
    ledger.pause_recurring(mine.pk, True, now=at(601))
    assert len(ledger.backfill(other.pk, at(60), at(120), now=at(602)).fired) == 2
    done = ledger.backfill(mine.pk, at(60), at(120), now=at(603))
    assert (list(done.fired), list(done.waiting), done.left_alone) == ([], [at(60), at(120)], 0)
    once_more = ledger.backfill(mine.pk, at(60), at(120), now=at(604))
    assert (list(once_more.missing), once_more.left_alone) == ([], 2)


def test_an_extra_run_stands_for_no_instant_of_the_rule(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="allow", now=at(30))
    ledger.run_now(row.pk, now=at(60))
    RecurringTask.objects.update(reached_at=at(600), fires_at=at(660), next_at=at(660))
    assert list(ledger.backfill(row.pk, at(60), at(60), now=at(601)).fired) == [at(60)]


def test_a_range_that_runs_backwards_and_a_row_that_is_gone_are_none(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    for verb in (ledger.backfill, ledger.backfill_preview):
        with pytest.raises(InvalidTask, match="end"):
            verb(row.pk, at(2), at(1))
        with pytest.raises(UnknownRecurring):
            verb(uuid7(), at(1), at(2))


def test_a_backfill_cancels_none_of_its_own_tasks(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="cancel_other", now=at(600))
    ledger.backfill(row.pk, at(60), at(180), now=at(601))
    for second in (602, 605, 608):
        claim = start_one(at(second))
        fire(at(second + 1))
        assert Task.objects.get(pk=claim.task_id).cancel_requested_at is None
        run([claim], now=at(second + 2))
        fire(at(second + 2))
    assert outcomes(row) == {"fired": 3}
    assert set(Task.objects.values_list("state", flat=True)) == {"succeeded"}


def test_what_takes_several_transactions_is_not_let_into_one(tenant_a: Tenant) -> None:
    """What it commits on the way would be lost with it, and everybody else kept waiting."""
    row = recurring(tenant_a)
    verbs: list[Callable[[], object]] = [
        lambda: ledger.edit_recurring(row.pk, {"priority": 1}, now=at(1)),
        lambda: ledger.run_now(row.pk, now=at(1)),
        lambda: ledger.backfill(row.pk, at(-120), at(-60), now=at(1)),
        lambda: ledger.delete_recurring(row.pk),
    ]
    for verb in verbs:
        with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
            verb()
    assert (again(row).version, Tick.objects.count()) == (1, 0)


def test_what_cannot_be_put_on_record_is_not_done(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)

    def fails(_: object) -> None:
        raise OSError("no room for the record")

    verbs: list[Callable[[], object]] = [
        lambda: ledger.edit_recurring(row.pk, {"priority": 1}, now=at(1), beside=fails),
        lambda: ledger.run_now(row.pk, now=at(1), beside=fails),
        lambda: ledger.backfill(row.pk, at(-120), at(-60), now=at(1), beside=fails),
    ]
    for verb in verbs:
        with pytest.raises(OSError, match="no room"):
            verb()
    assert (again(row).version, Tick.objects.count(), Task.objects.count()) == (1, 0, 0)


def test_a_backfill_cancels_nothing_that_is_newer(tenant_a: Tenant) -> None:
    row = recurring(tenant_a, overlap="cancel_other")
    fire(at(60))
    start_one(at(60))
    ledger.backfill(row.pk, at(-120), at(-60), now=at(61))
    fire(at(62))
    assert Task.objects.get().cancel_requested_at is None
    assert outcomes(row) == {"fired": 1, "waits": 2}


def test_the_database_refuses_a_second_task_for_one_instant(tenant_a: Tenant) -> None:
    row = recurring(tenant_a)
    fire(at(60))
    twice = Tick(recurring=row, at=at(60), origin="backfill", outcome="fired", decided_at=at(61))
    twice.task_id = uuid7()
    with pytest.raises(IntegrityError):
        twice.save()
