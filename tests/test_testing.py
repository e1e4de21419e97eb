"""What those who test their own tasks are given, in the kinds of tests that they write."""

from datetime import timedelta
from typing import Any, NoReturn

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.test import TestCase, TransactionTestCase

from scheduling import clock, ledger
from scheduling.compat import TaskResultStatus, task
from scheduling.context import Context
from scheduling.models import Attempt
from scheduling.testing import assert_enqueued, enqueued, run_due_tasks
from tenants.current import acting_for
from tenants.models import Tenant

HOUR = timedelta(hours=1)
DONE: list[Any] = []


@task()
def note(word: str) -> str:
    DONE.append(word)
    return word.upper()


@task()
async def note_from_a_coroutine(word: str) -> int:
    return await sync_to_async(Tenant.objects.filter(slug=word).count)()


@task(backoff=lambda attempt: HOUR)
def fail_at_first(context: Context) -> int:
    if context.attempt == 1:
        raise ValueError("no luck yet")
    return context.attempt


@task()
def start_another() -> None:
    note.enqueue("of another")


@task()
def start_itself_again() -> None:
    start_itself_again.enqueue()


@task()
def settle(context: Context) -> None:
    with context.settle("kept"):
        Tenant.objects.create(slug="written")


@task()
def break_off(context: Context) -> NoReturn:
    with context.settle():
        Tenant.objects.create(slug="written")
        raise ValueError("no luck")


@task(timeout=timedelta(microseconds=1))
def take_its_time() -> str:
    return "".join(str(number) for number in range(1000))


class Behaviour:
    """The same inside the transaction of a `TestCase` as in tests that commit."""

    def test_what_is_due_runs_here_and_what_it_starts_as_well(self) -> None:
        start_another.enqueue()
        note.enqueue("first")

        results = run_due_tasks()

        assert DONE == ["first", "of another"]
        assert [one.status for one in results] == [TaskResultStatus.SUCCESSFUL] * 3
        assert results[1].return_value == "FIRST"
        assert run_due_tasks() == []

    def test_what_is_due_later_runs_once_that_time_has_passed(self) -> None:
        later = note.using(run_after=clock.now() + HOUR).enqueue("later")
        assert run_due_tasks() == []
        (result,) = run_due_tasks(ahead=HOUR)
        assert result.id == later.id

    def test_failure_is_raised_with_the_handlers_traceback(self) -> None:
        fail_at_first.enqueue()
        with pytest.raises(AssertionError, match=r"attempt 1(?s:.*)test_testing\.py(?s:.*)no luck"):
            run_due_tasks()

    def test_retry_comes_with_time(self) -> None:
        fail_at_first.enqueue()
        (first,) = run_due_tasks(may_fail=True)
        assert first.status == TaskResultStatus.READY
        assert first.errors[0].exception_class is ValueError
        (second,) = run_due_tasks(ahead=HOUR)
        assert (second.return_value, second.attempts) == (2, 2)

    def test_coroutine_sees_what_the_test_sees(self) -> None:
        Tenant.objects.create(slug="unseen")
        note_from_a_coroutine.enqueue("unseen")
        (result,) = run_due_tasks()
        assert result.return_value == 1

    def test_settling_works_as_in_a_worker(self) -> None:
        settle.enqueue()
        (result,) = run_due_tasks()
        assert result.return_value == "kept"
        assert Tenant.objects.filter(slug="written").exists()
        assert Attempt.objects.count() == 1

    def test_broken_off_settlement_leaves_nothing(self) -> None:
        break_off.enqueue()
        run_due_tasks(may_fail=True)
        assert not Tenant.objects.filter(slug="written").exists()

    def test_pause_holds(self) -> None:
        note.enqueue("later")
        ledger.pause(by="test")
        assert run_due_tasks() == []

    def test_debugger_has_time(self) -> None:
        take_its_time.enqueue()
        (result,) = run_due_tasks()
        assert result.status == TaskResultStatus.SUCCESSFUL

    def test_tasks_without_end_are_noticed(self) -> None:
        start_itself_again.enqueue()
        with pytest.raises(AssertionError, match="no end after 3 tasks"):
            run_due_tasks(at_most=3)

    def test_it_says_what_was_enqueued(self) -> None:
        note.enqueue("a")
        start_another.enqueue()
        note.using(priority=7).enqueue(word="b")
        assert [(one.args, one.kwargs) for one in enqueued(note)] == [
            (["a"], {}),
            ([], {"word": "b"}),
        ]
        assert [one.task.func for one in enqueued()] == [note.func, start_another.func, note.func]
        assert assert_enqueued(note, word="b").task.priority == 7

    def test_it_says_what_there_was_instead(self) -> None:
        note.enqueue("a")
        with pytest.raises(AssertionError, match=r"0 tasks .*note\('b'\) were(?s:.*)\n  \('a'\)"):
            assert_enqueued(note, "b")
        with pytest.raises(AssertionError, match="there was: nothing"):
            assert_enqueued(start_another)

    def test_what_was_rolled_back_was_not_enqueued(self) -> None:
        with transaction.atomic():
            note.enqueue("a")
            transaction.set_rollback(True)
        assert enqueued() == []


class ActingForATenant:
    def setUp(self) -> None:
        tenant = Tenant.objects.create(slug="mine")
        acting = acting_for(tenant)
        acting.__enter__()
        self.addCleanup(acting.__exit__, None, None, None)  # type: ignore[attr-defined]  # of the TestCase
        self.addCleanup(DONE.clear)  # type: ignore[attr-defined]


class InsideATransaction(Behaviour, ActingForATenant, TestCase):
    """As most tests of Django projects are."""


class Committing(Behaviour, ActingForATenant, TransactionTestCase):
    """With connections of other threads and processes looking on."""
