"""Django's task interface on the ledger."""

import asyncio
import logging
from collections import UserDict, UserList
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db import connections, transaction
from pytest_django import DjangoAssertNumQueries, Settings

from scheduling import ledger
from scheduling import results as result_module
from scheduling.backend import LedgerBackend, owner_of
from scheduling.compat import (
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultMismatch,
    TaskResultStatus,
    default_task_backend,
    log_task_enqueued,
    task,
    task_enqueued,
)
from scheduling.errors import (
    IdempotencyMismatch,
    InvalidTask,
    LimitExceeded,
    RentrollError,
    TenantRequired,
)
from scheduling.ledger.values import Fail, Failure, Settlement, Snooze, Succeed, Verdict
from scheduling.models import Task
from tenants.current import acting_for
from tenants.models import Tenant

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

SOON = timedelta(minutes=1)
backend = cast("LedgerBackend", default_task_backend)


@task(name="test.backend.add")
def add(a: int, b: int = 0) -> int:
    return a + b


@task(queue_name="mail", priority=3)
async def send(context: Any, invoice_id: int) -> None: ...


@task()
def keep(*args: Any, **kwargs: Any) -> None: ...


@pytest.fixture
def heard() -> Iterator[list[TaskResult]]:
    """The results that the signal `task_enqueued` was sent with."""
    results: list[TaskResult] = []

    def hear(sender: type, task_result: TaskResult, **kwargs: Any) -> None:
        assert sender is LedgerBackend
        results.append(task_result)

    task_enqueued.connect(hear)
    yield results
    task_enqueued.disconnect(hear)


@pytest.fixture
def acme(tenant_a: Tenant) -> Iterator[Tenant]:
    """A tenant acted for."""
    with acting_for(tenant_a):
        yield tenant_a


def run(verdict: Verdict) -> UUID:
    """Claim the next task and settle it; answers with the worker's id."""
    worker = uuid4()
    (claim,) = ledger.claim(worker, limit=1).claims
    ledger.settle([Settlement(claim, verdict)])
    return worker


class TestEnqueue:
    def test_a_task_is_stored_as_it_was_asked_for(self, acme: Tenant) -> None:
        due_at = datetime.now(UTC) + SOON
        result = send.using(
            run_after=due_at, timeout=SOON, max_attempts=9, idempotency_key="invoice-7"
        ).enqueue(7)

        row = Task.objects.select_related("schedule").get(pk=result.id)
        assert (row.tenant_id, row.name) == (acme.pk, send.module_path)
        assert (row.queue, row.priority) == ("mail", 3)
        assert (row.args, row.kwargs) == ([7], {})
        assert (row.max_attempts, row.timeout_seconds) == (9, 60)
        assert row.idempotency_key == "invoice-7"
        assert row.schedule.due_at == due_at

    def test_the_result_is_handed_back_without_reading_it(
        self, acme: Tenant, heard: list[TaskResult]
    ) -> None:
        result = add.enqueue(1, b=2)
        assert result.status == TaskResultStatus.READY
        assert result.task is add
        assert (result.args, result.kwargs) == ([1], {"b": 2})
        assert result.enqueued_at == Task.objects.get(pk=result.id).created_at
        assert result.attempts == 0
        assert heard == [result]

    def test_arguments_become_what_the_framework_says_they_do(self, acme: Tenant) -> None:
        result = keep.enqueue((1, 2), text="é".encode(), more=UserDict(a=UserList(["😀"])))
        assert result.args == [[1, 2]]
        assert result.kwargs == {"text": "é", "more": {"a": ["😀"]}}
        row = Task.objects.get(pk=result.id)
        assert (row.args, row.kwargs) == (result.args, result.kwargs)

    def test_it_is_part_of_the_callers_transaction(self, acme: Tenant) -> None:
        def enqueue_and_fail() -> None:
            with transaction.atomic():
                add.enqueue(1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            enqueue_and_fail()
        assert not Task.objects.exists()

    def test_a_batch_is_stored_in_order_with_one_signal_each(
        self, acme: Tenant, heard: list[TaskResult]
    ) -> None:
        results = backend.bulk_enqueue([(add, [n], {}) for n in range(5)])
        assert [result.args for result in results] == [[n] for n in range(5)]
        assert heard == results
        stored = Task.objects.order_by("id").values_list("args", flat=True)
        assert list(stored) == [[n] for n in range(5)]

    def test_one_bad_call_keeps_the_whole_batch_out(
        self, acme: Tenant, heard: list[TaskResult]
    ) -> None:
        with pytest.raises(InvalidTask, match=r"payload\.a: must be a whole number"):
            backend.bulk_enqueue([(add, [1], {}), (add, ["one"], {})])
        assert not Task.objects.exists()
        assert heard == []

    def test_a_tenant_over_its_limit_is_refused(self, acme: Tenant) -> None:
        Tenant.objects.filter(pk=acme.pk).update(max_queued=1)
        add.enqueue(1)
        with pytest.raises(LimitExceeded, match="max_queued"):
            add.enqueue(2)

    def test_results_are_told_of_when_they_are_looked_at_and_as_they_were_stored(
        self, acme: Tenant
    ) -> None:
        numbers = [1]
        (result,) = backend.bulk_enqueue([(keep, [numbers], {})])
        numbers.append(2)
        assert result.args == [[1]]

    def test_the_frameworks_own_line_is_written_for_who_reads_it(
        self, acme: Tenant, caplog: pytest.LogCaptureFixture
    ) -> None:
        framework = result_module.framework_logger()
        task_enqueued.connect(log_task_enqueued)
        with caplog.at_level(logging.DEBUG, framework.name):
            result_module.without_the_framework()
            result = add.enqueue(1)
        assert result.id in caplog.text
        result_module.without_the_framework()
        assert not task_enqueued.receivers

    def test_coroutines_enqueue_and_read(self, acme: Tenant) -> None:
        async def enqueue_and_read() -> tuple[TaskResult, TaskResult, list[TaskResult]]:
            one = await add.aenqueue(1)
            many = await backend.abulk_enqueue([(add, [2], {}), (add, [3], {})])
            read = await add.aget_result(one.id)
            await sync_to_async(connections.close_all)()  # they belong to a thread that ends here
            return one, read, many

        one, read, many = asyncio.run(enqueue_and_read())
        assert read.id == one.id
        assert [result.args for result in many] == [[2], [3]]


class TestIdempotencyKey:
    def test_the_same_request_gives_the_first_task_back_as_it_is_now(self, acme: Tenant) -> None:
        once = add.using(idempotency_key="sum")
        first = once.enqueue(1)
        run(Succeed("1"))

        again = once.enqueue(1)
        assert again.id == first.id
        assert again.return_value == 1
        assert Task.objects.count() == 1

    def test_another_request_under_the_key_is_refused(self, acme: Tenant) -> None:
        once = add.using(idempotency_key="sum")
        once.enqueue(1)
        with pytest.raises(IdempotencyMismatch):
            once.enqueue(2)

    def test_a_key_whose_transaction_rolled_back_is_free(self, acme: Tenant) -> None:
        once = add.using(idempotency_key="sum")
        with transaction.atomic():
            lost = once.enqueue(1)
            transaction.set_rollback(True)
        kept = once.enqueue(1)
        assert lost.id != kept.id
        assert list(Task.objects.values_list("id", flat=True)) == [UUID(kept.id)]

    def test_two_tenants_may_use_one_key(self, tenant_a: Tenant, tenant_b: Tenant) -> None:
        once = add.using(idempotency_key="sum")
        assert (
            once.using(tenant=tenant_a).enqueue(1).id != once.using(tenant=tenant_b).enqueue(1).id
        )


class TestTenant:
    def owner(self, result: TaskResult) -> str:
        return Task.objects.select_related("tenant").get(pk=result.id).tenant.slug

    def test_the_one_named_comes_before_the_one_acted_for(
        self, acme: Tenant, tenant_b: Tenant
    ) -> None:
        assert self.owner(add.enqueue(1)) == "tenant-a"
        assert self.owner(add.using(tenant=tenant_b).enqueue(1)) == "tenant-b"
        assert self.owner(add.using(tenant="tenant-b").enqueue(1)) == "tenant-b"

    def test_the_default_is_for_code_that_acts_for_nobody(
        self, tenant_a: Tenant, tenant_b: Tenant, settings: Settings
    ) -> None:
        settings.RENTROLL = settings.RENTROLL | {"DEFAULT_TENANT": "tenant-b"}
        assert self.owner(add.enqueue(1)) == "tenant-b"
        with acting_for(tenant_a):
            assert self.owner(add.enqueue(1)) == "tenant-a"

    def test_without_one_nothing_is_stored(self) -> None:
        with pytest.raises(TenantRequired, match="acting_for"):
            add.enqueue(1)
        assert not Task.objects.exists()

    def test_an_unknown_slug_is_refused(self) -> None:
        with pytest.raises(InvalidTask, match="no tenant 'nobody'"):
            add.using(tenant="nobody").enqueue(1)

    def test_a_slug_that_changed_hands_is_followed(self, tenant_a: Tenant) -> None:
        named = add.using(tenant="tenant-a")
        named.enqueue(1)
        tenant_a.slug = "former"
        tenant_a.save()
        heir = Tenant.objects.create(slug="tenant-a")
        result = named.enqueue(1)
        assert Task.objects.get(pk=result.id).tenant_id == heir.pk

    def test_a_slug_is_not_looked_up_every_time(
        self, tenant_a: Tenant, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        named = add.using(tenant="tenant-a")
        named.enqueue(1)
        with django_assert_num_queries(0):
            assert owner_of(named) == tenant_a.pk


class TestResult:
    def test_a_task_that_waits_is_ready(self, acme: Tenant) -> None:
        result = add.get_result(add.enqueue(1, b=2).id)
        assert result.status == TaskResultStatus.READY
        assert (result.args, result.kwargs) == ([1], {"b": 2})
        assert (result.started_at, result.finished_at) == (None, None)
        assert (result.errors, result.worker_ids) == ([], [])
        with pytest.raises(ValueError, match="not finished"):
            assert result.return_value

    def test_a_running_task_names_its_worker(self, acme: Tenant) -> None:
        result = add.enqueue(1)
        worker = uuid4()
        (claim,) = ledger.claim(worker, limit=1).claims
        result.refresh()
        assert result.status == TaskResultStatus.RUNNING
        assert result.worker_ids == [str(worker)]
        assert result.started_at == result.last_attempted_at == claim.acquired_at

    def test_a_success_has_its_return_value(self, acme: Tenant) -> None:
        result = add.enqueue(1, b=2)
        worker = run(Succeed('{"sum": [3]}'))
        result.refresh()
        assert result.status == TaskResultStatus.SUCCESSFUL
        assert result.return_value == {"sum": [3]}
        assert result.worker_ids == [str(worker)]
        assert result.finished_at is not None

    def test_a_task_that_waits_to_be_retried_is_ready_and_tells_its_errors(
        self, acme: Tenant
    ) -> None:
        result = add.enqueue(1)
        first = run(Fail(Failure("builtins.ValueError", "no", "Traceback …"), timedelta(0)))
        result.refresh()
        assert result.status == TaskResultStatus.READY
        assert (result.attempts, result.worker_ids) == (1, [str(first)])
        (error,) = result.errors
        assert error.exception_class is ValueError
        assert error.traceback == "Traceback …"

    def test_a_lost_attempt_is_an_error_of_the_ledgers_own(self, acme: Tenant) -> None:
        result = add.enqueue(1)
        ledger.claim(uuid4(), limit=1)
        ledger.reap(ledger.held_leases())
        result.refresh()
        assert result.attempts == 1
        assert result.errors[0].exception_class is RentrollError

    def test_a_snoozed_attempt_does_not_count(self, acme: Tenant) -> None:
        result = add.enqueue(1)
        run(Snooze(timedelta(0)))
        result.refresh()
        assert result.attempts == 0

    def test_a_dead_letter_and_a_cancelled_task_have_failed(self, acme: Tenant) -> None:
        dead, stopped = add.enqueue(1), add.enqueue(2)
        run(Fail(Failure("builtins.ValueError", "no"), retry_in=None))
        ledger.cancel([UUID(stopped.id)])
        for result in (dead, stopped):
            result.refresh()
            assert result.status == TaskResultStatus.FAILED
            assert result.is_finished

    def test_another_tenants_result_does_not_exist(self, acme: Tenant, tenant_b: Tenant) -> None:
        result = add.using(tenant=tenant_b).enqueue(1)
        with pytest.raises(TaskResultDoesNotExist):
            add.get_result(result.id)
        with acting_for(tenant_b):
            assert add.get_result(result.id).id == result.id
        with acting_for(None):
            assert add.get_result(result.id).id == result.id

    @pytest.mark.parametrize("result_id", ["", "7", "nonsense", str(UUID(int=7))])
    def test_an_unknown_result_does_not_exist(self, acme: Tenant, result_id: str) -> None:
        with pytest.raises(TaskResultDoesNotExist):
            add.get_result(result_id)

    def test_another_tasks_result_is_a_mismatch(self, acme: Tenant) -> None:
        result = add.enqueue(1)
        with pytest.raises(TaskResultMismatch):
            send.get_result(result.id)
