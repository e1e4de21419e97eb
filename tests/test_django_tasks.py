"""What Django's documentation of its task framework promises, held against this backend.

An independent reading: by the order of the reference, and by nothing of this project but its tasks, a tenant
to act for, and `run_due_tasks` in the place of a worker. Where the documentation leaves a backend free, the
test says what this one does.
"""

import asyncio
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Thread
from typing import Any, NoReturn, cast
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import connections, transaction

from scheduling import clock, ledger
from scheduling.backend import LedgerBackend
from scheduling.compat import (
    InvalidDeclaration,
    Task,
    TaskContext,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultMismatch,
    TaskResultStatus,
    default_task_backend,
    task,
    task_backends,
    task_enqueued,
    task_finished,
    task_started,
)
from scheduling.errors import PermanentFailure
from scheduling.models import Task as Row
from scheduling.testing import run_due_tasks
from tenants.current import acting_for
from tenants.models import Tenant

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

HOUR = timedelta(hours=1)
backend = cast("LedgerBackend", default_task_backend)
ran: list[Any] = []


@task  # bare, as the documentation shows it
def double(number: int) -> int:
    return number * 2


@task()
def give_back(*args: Any, **kwargs: Any) -> Any:
    return [args, kwargs]


@task(priority=2, queue_name="emails")
def email(subject: str) -> None:
    ran.append(subject)


@task(takes_context=True)
def tell(context: TaskContext) -> list[Any]:
    return [context.attempt, context.task_result.id, context.task_result.status]


@task()
async def count_tenants() -> int:
    return await Tenant.objects.acount()


@task(backoff=lambda attempt: HOUR, max_attempts=2)
def fail() -> NoReturn:
    raise LookupError("no luck")


@task()
def fail_for_good() -> NoReturn:
    raise PermanentFailure("never")


@task(takes_context=True)
def keep_a_context(context: TaskContext) -> None:
    ran.append(context)


@pytest.fixture(autouse=True)
def acme(tenant_a: Tenant) -> Iterator[Tenant]:
    with acting_for(tenant_a):
        yield tenant_a
    ran.clear()


def at_once(coroutine: Any) -> Any:
    """Its answer. The connections that it opened belong to a thread that ends here."""

    async def run() -> Any:
        try:
            return await coroutine
        finally:
            await sync_to_async(connections.close_all)()

    return asyncio.run(run())


class TestDeclaring:
    def test_decorator_makes_a_task(self) -> None:
        for declared in (double, email):
            assert Task in type(declared).__mro__
        assert (double.priority, double.queue_name, double.backend) == (0, "default", "default")
        assert (email.priority, email.queue_name) == (2, "emails")
        assert double.run_after is None

    def test_function_can_still_be_called(self) -> None:
        assert double.call(2) == double.func(2) == 4
        assert at_once(double.acall(2)) == 4

    @pytest.mark.parametrize("priority", [-101, 101, 1.5])
    def test_priority_out_of_range_is_an_invalid_task(self, priority: float) -> None:
        with pytest.raises(InvalidDeclaration):
            task(priority=priority)(double.func)
        with pytest.raises(InvalidDeclaration):
            double.using(priority=priority)

    def test_function_inside_another_is_an_invalid_task(self) -> None:
        with pytest.raises(InvalidDeclaration, match="module level"):

            @task()
            def inner() -> None: ...

    def test_context_must_come_first_where_it_is_asked_for(self) -> None:
        with pytest.raises(InvalidDeclaration, match="context"):
            task(takes_context=True)(double.func)

    def test_when_to_run_is_no_part_of_a_declaration(self) -> None:
        with pytest.raises(TypeError):
            task(run_after=datetime.now(UTC))(double.func)

    def test_nothing_about_a_task_can_be_modified(self) -> None:
        with pytest.raises((FrozenInstanceError, AttributeError)):
            double.priority = 5

    def test_copies_can_be_copied(self) -> None:
        urgent = double.using(priority=7, max_attempts=9)
        assert deepcopy(urgent) == urgent


class TestUsing:
    def test_original_is_left_unchanged(self) -> None:
        urgent = double.using(priority=10, queue_name="fast", backend="default")
        assert (urgent.priority, urgent.queue_name) == (10, "fast")
        assert (double.priority, double.queue_name) == (0, "default")

    def test_everything_that_is_ours_is_taken_as_well(self, tenant_b: Tenant) -> None:
        deadline = clock.now() + HOUR
        result = double.using(
            tenant=tenant_b, idempotency_key="a", max_attempts=7, timeout=HOUR, deadline=deadline
        ).enqueue(1)
        row = Row.objects.get(pk=result.id)
        assert (row.tenant_id, row.idempotency_key) == (tenant_b.pk, "a")
        assert (row.max_attempts, row.timeout_seconds) == (7, 3600)
        assert row.deadline == deadline

    def test_unaware_instant_is_an_invalid_task(self) -> None:
        with pytest.raises(InvalidDeclaration, match="aware"):
            double.using(run_after=datetime(2027, 1, 4))  # noqa: DTZ001  # the point of it

    def test_timedelta_counts_from_now(self) -> None:
        double.using(run_after=HOUR).enqueue(1)
        assert run_due_tasks(ahead=HOUR / 2) == []
        assert len(run_due_tasks(ahead=HOUR)) == 1


class TestEnqueueing:
    def test_result_is_ready(self) -> None:
        result = double.enqueue(number=21)
        assert result.__class__ is TaskResult
        assert result.status == TaskResultStatus.READY
        assert isinstance(result.id, str)
        assert len(result.id) < 64
        assert (result.args, result.kwargs) == ([], {"number": 21})
        assert result.enqueued_at is not None
        assert (result.started_at, result.last_attempted_at, result.finished_at) == (None,) * 3
        assert (result.attempts, result.errors, result.worker_ids) == (0, [], [])
        assert (result.backend, result.task, result.is_finished) == ("default", double, False)

    def test_coroutines_enqueue_too(self) -> None:
        result = at_once(double.aenqueue(2))
        assert double.get_result(result.id).args == [2]

    def test_backend_enqueues_as_well(self) -> None:
        assert backend.enqueue(double, [2], {}).args == [2]
        assert at_once(backend.aenqueue(double, [3], {})).args == [3]

    def test_arguments_make_a_round_trip_through_json(self) -> None:
        give_back.enqueue((1, 2), b"text", more={"nested": (3,)})
        (result,) = run_due_tasks()
        assert result.return_value == [[[1, 2], "text"], {"more": {"nested": [3]}}]

    @pytest.mark.parametrize("value", [datetime(2027, 1, 4, tzinfo=UTC), {1, 2}, object()])
    def test_what_json_cannot_say_is_a_type_error_and_an_invalid_task(self, value: Any) -> None:
        for error in (TypeError, InvalidDeclaration):
            with pytest.raises(error, match="JSON"):
                give_back.enqueue([value])
        assert not Row.objects.exists()

    def test_arguments_that_do_not_fit_are_an_invalid_task(self) -> None:
        with pytest.raises(InvalidDeclaration, match="number") as refused:
            double.enqueue("two")
        assert not isinstance(refused.value, TypeError)

    def test_many_are_one_batch(self) -> None:
        results = backend.bulk_enqueue([(double, [n], {}) for n in range(3)])
        assert [one.return_value for one in run_due_tasks()] == [0, 2, 4]
        assert [one.args for one in at_once(backend.abulk_enqueue([(double, [7], {})]))] == [[7]]
        assert len({one.id for one in results}) == 3


class TestTransactions:
    def test_task_is_part_of_the_transaction_it_is_enqueued_in(self) -> None:
        with transaction.atomic():
            double.enqueue(1)
            transaction.set_rollback(True)
        assert not Row.objects.exists()

    def test_on_commit_works_as_documented(self) -> None:
        with transaction.atomic():
            transaction.on_commit(partial(double.enqueue, number=1))
            assert not Row.objects.exists()
        assert Row.objects.get().kwargs == {"number": 1}


class TestResults:
    def test_result_can_be_had_from_task_and_backend_and_coroutine(self) -> None:
        known = double.enqueue(1).id
        for found in (
            double.get_result(known),
            backend.get_result(known),
            at_once(double.aget_result(known)),
            at_once(backend.aget_result(known)),
        ):
            assert (found.id, found.args, found.task.func) == (known, [1], double.func)

    def test_unknown_result_does_not_exist(self) -> None:
        for unknown in ("", "nonsense", "0" * 32):
            with pytest.raises(TaskResultDoesNotExist):
                double.get_result(unknown)
            with pytest.raises(TaskResultDoesNotExist):
                at_once(backend.aget_result(unknown))

    def test_result_of_another_task_is_a_mismatch(self) -> None:
        result = double.enqueue(1)
        with pytest.raises(TaskResultMismatch):
            email.get_result(result.id)
        with pytest.raises(TaskResultMismatch):
            at_once(email.aget_result(result.id))

    def test_result_changes_only_when_it_is_refreshed(self) -> None:
        result = double.enqueue(21)
        run_due_tasks()
        assert result.status == TaskResultStatus.READY
        result.refresh()
        assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 42)

    def test_coroutines_refresh_too(self) -> None:
        result = double.enqueue(21)
        run_due_tasks()
        at_once(result.arefresh())
        assert result.return_value == 42

    def test_value_of_what_has_not_finished_or_has_failed_is_an_error(self) -> None:
        waiting, failed = double.using(run_after=HOUR).enqueue(1), fail_for_good.enqueue()
        with pytest.raises(ValueError, match="not finished"):
            assert waiting.return_value
        run_due_tasks(may_fail=True)
        failed.refresh()
        with pytest.raises(ValueError, match="failed"):
            assert failed.return_value

    def test_instants_of_a_task_that_was_tried_twice(self) -> None:
        result = fail.enqueue()
        run_due_tasks(may_fail=True)
        result.refresh()
        first = result.started_at
        assert not result.is_finished

        run_due_tasks(may_fail=True, ahead=2 * HOUR)
        result.refresh()

        assert result.started_at == first
        assert first is not None
        assert result.last_attempted_at is not None
        assert result.finished_at is not None
        assert first + HOUR < result.last_attempted_at <= result.finished_at
        assert result.attempts == len(set(result.worker_ids)) == 2

    def test_nothing_about_a_result_can_be_modified(self) -> None:
        for result in (double.enqueue(1), *run_due_tasks()):
            with pytest.raises((FrozenInstanceError, AttributeError)):
                result.status = TaskResultStatus.FAILED


class TestErrors:
    def test_every_failed_attempt_is_an_error(self) -> None:
        result = fail.enqueue()
        run_due_tasks(may_fail=True)
        result.refresh()
        assert (result.status, result.is_finished) == (TaskResultStatus.READY, False)
        run_due_tasks(may_fail=True, ahead=2 * HOUR)
        result.refresh()
        assert (result.status, result.is_finished) == (TaskResultStatus.FAILED, True)
        assert [one.exception_class for one in result.errors] == [LookupError] * 2
        assert result.errors[0].traceback.startswith("Traceback (most recent call last)")
        assert "LookupError: no luck" in result.errors[0].traceback

    def test_what_was_cancelled_has_failed(self) -> None:
        result = double.enqueue(1)
        ledger.cancel([UUID(result.id)])
        result.refresh()
        assert result.status == TaskResultStatus.FAILED
        assert result.errors == []


class TestContext:
    def test_it_tells_attempt_and_result(self) -> None:
        result = tell.enqueue()
        run_due_tasks()
        result.refresh()
        assert result.return_value == [1, result.id, TaskResultStatus.RUNNING]

    def test_nothing_about_it_can_be_modified(self) -> None:
        keep_a_context.enqueue()
        run_due_tasks()
        (context,) = ran
        assert TaskContext in type(context).__mro__
        for name in ("attempt", "task_result"):
            with pytest.raises(AttributeError):
                setattr(context, name, 7)


class TestCapabilities:
    """Each flag is true, and so is what it stands for."""

    def test_defer(self) -> None:
        assert backend.supports_defer
        double.using(run_after=clock.now() + HOUR).enqueue(1)
        assert run_due_tasks() == []
        assert len(run_due_tasks(ahead=HOUR)) == 1

    def test_async_task(self) -> None:
        assert backend.supports_async_task
        count_tenants.enqueue()
        (result,) = run_due_tasks()
        assert result.return_value == 1

    def test_get_result_from_another_thread(self) -> None:
        assert backend.supports_get_result
        known = double.enqueue(1).id
        found: list[TaskResult] = []

        def look() -> None:
            found.append(task_backends["default"].get_result(known))
            connections.close_all()

        thread = Thread(target=look)
        thread.start()
        thread.join()
        assert [one.id for one in found] == [known]

    def test_priority(self) -> None:
        assert backend.supports_priority
        for priority in (-100, 0, 100, 50):
            email.using(priority=priority).enqueue(str(priority))
        run_due_tasks()
        assert ran == ["100", "50", "0", "-100"]


def test_signals_tell_of_the_whole_life_of_a_task() -> None:
    told: list[tuple[str, type, str]] = []

    def listen(name: str) -> Any:
        def hear(sender: type, task_result: TaskResult, **kwargs: Any) -> None:
            told.append((name, sender, str(task_result.status)))

        return hear

    signals = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}
    listeners = {name: listen(name) for name in signals}
    for name, signal in signals.items():
        signal.connect(listeners[name])
    try:
        double.enqueue(1)
        fail_for_good.enqueue()
        run_due_tasks(may_fail=True)
    finally:
        for name, signal in signals.items():
            signal.disconnect(listeners[name])

    assert {sender for _, sender, _ in told} == {LedgerBackend}
    assert [(name, status) for name, _, status in told] == [
        ("enqueued", "READY"),
        ("enqueued", "READY"),
        ("started", "RUNNING"),
        ("finished", "SUCCESSFUL"),
        ("started", "RUNNING"),
        ("finished", "FAILED"),
    ]
