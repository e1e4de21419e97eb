"""Handlers that settle for themselves, together with rows of their own: both are committed, or neither."""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, NoReturn
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db import IntegrityError, connections, transaction

from scheduling import ledger
from scheduling.compat import task
from scheduling.context import Context
from scheduling.errors import WrongState
from scheduling.ledger.values import Fail, Release, Succeed, Verdict
from scheduling.models import Lease, Refusal, Task
from scheduling.states import TaskState
from scheduling.workers.board import Tally
from scheduling.workers.executor import Executor
from scheduling.workers.held import Held
from tenants.models import Tenant
from tests.workers.kit import LEASE, Process

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

OTHERS: list[Callable[[], object]] = []
"""What somebody else does while a handler is under way."""


def meanwhile() -> None:
    while OTHERS:
        OTHERS.pop()()


def write() -> Tenant:
    """A row of the handler's own."""
    return Tenant.objects.create(slug="written")


def has_written() -> bool:
    return Tenant.objects.filter(slug="written").exists()


@task()
def store(context: Context) -> str:
    meanwhile()
    with context.settle({"kept": True}):
        write()
    return "not kept"


@task()
def store_what_is_known_late(context: Context) -> None:
    with context.settle() as success:
        success.result = write().slug


@task()
def break_off(context: Context) -> NoReturn:
    with context.settle():
        write()
        raise ValueError("no luck")


@task()
def raise_afterwards(context: Context) -> NoReturn:
    with context.settle():
        write()
    raise ValueError("too late")


@task()
def snooze_afterwards(context: Context) -> NoReturn:
    with context.settle():
        write()
    context.snooze(LEASE)


@task()
def settle_twice(context: Context) -> None:
    with context.settle():
        write()
    with (
        pytest.raises(WrongState, match="has succeeded; it cannot be settled again"),
        context.settle(),
    ):
        Tenant.objects.create(slug="twice")


@task()
def settle_inside_itself(context: Context) -> None:
    with context.settle():
        write()
        with context.settle():
            pass


@task()
def settle_inside_a_transaction(context: Context) -> None:
    with transaction.atomic():
        write()
        with context.settle():
            pass


@task()
def roll_back_quietly(context: Context) -> None:
    with context.settle():
        write()
        transaction.set_rollback(True)


@task()
def swallow_an_error(context: Context) -> None:
    with context.settle():
        write()
        with suppress(IntegrityError), transaction.atomic(savepoint=False):
            write()


@task()
def give_what_cannot_be_kept(context: Context) -> None:
    with context.settle(object()):
        write()


@task()
async def store_from_a_coroutine(context: Context) -> None:
    await sync_to_async(store.func)(context)
    await sync_to_async(connections.close_all)()  # nobody tends that thread here


@task()
async def forget_that_the_orm_is_synchronous(context: Context) -> None:
    with context.settle():
        pass


@pytest.fixture
def process() -> Process:
    return Process()


def put(declared: Any, tenant: Tenant, **options: Any) -> None:
    declared.using(tenant=tenant, **options).enqueue()


def failure(verdict: Verdict) -> str:
    assert isinstance(verdict, Fail)
    return verdict.failure.cls.rpartition(".")[2]


class TestBothAreCommitted:
    def test_row_and_success_with_the_result_of_the_block(
        self, process: Process, tenant_a: Tenant
    ) -> None:
        put(store, tenant_a)
        process.run()

        row = Task.objects.get()
        assert (row.state, row.result) == (TaskState.SUCCEEDED, {"kept": True})
        assert has_written()

    def test_result_may_be_known_late(self, process: Process, tenant_a: Tenant) -> None:
        put(store_what_is_known_late, tenant_a)
        process.run()
        assert Task.objects.get().result == "written"

    def test_it_is_counted_once_and_nothing_is_left_to_tell(
        self, process: Process, tenant_a: Tenant
    ) -> None:
        put(store, tenant_a)
        process.execute(*process.claim())
        assert (
            process.hand.has_news()
        )  # so that the pool looks for work: a tenant may be below its cap

        process.hand.settle()

        assert process.board.tally() == Tally(done=1)
        assert process.hand.is_empty()
        assert not process.hand.has_news()
        assert not Refusal.objects.exists()

    @pytest.mark.parametrize("declared", [raise_afterwards, snooze_afterwards])
    def test_what_is_raised_afterwards_is_logged_and_changes_nothing(
        self,
        process: Process,
        tenant_a: Tenant,
        declared: Any,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        put(declared, tenant_a)
        assert process.run() == Succeed()

        assert Task.objects.get().state == TaskState.SUCCEEDED
        assert has_written()
        [told] = [one for one in caplog.records if one.name == Executor.__module__]
        line = caplog.handler.format(told)
        assert f"{declared.name} " in line
        assert " after it had settled" in line
        assert f" at {__file__}:" in line
        assert "too late" not in line  # it may quote the payload
        assert process.board.tally() == Tally(done=1)

    def test_second_time_is_refused_in_words(
        self, process: Process, tenant_a: Tenant, caplog: pytest.LogCaptureFixture
    ) -> None:
        put(settle_twice, tenant_a)
        process.run()

        assert " after it had settled" not in caplog.text  # the handler met what it expects
        assert not Tenant.objects.filter(slug="twice").exists()
        assert Task.objects.get().state == TaskState.SUCCEEDED

    def test_cancellation_that_was_asked_for_comes_too_late(
        self, process: Process, tenant_a: Tenant
    ) -> None:
        put(store, tenant_a)
        (held,) = process.claim()
        ledger.cancel([held.claim.task_id])
        process.heart.run()
        process.execute(held)
        process.hand.settle()
        assert Task.objects.get().state == TaskState.SUCCEEDED
        assert has_written()

    def test_coroutine_settles_in_a_thread(self, process: Process, tenant_a: Tenant) -> None:
        put(store_from_a_coroutine, tenant_a)
        process.run()
        assert Task.objects.get().state == TaskState.SUCCEEDED
        assert has_written()

    def test_grace_that_ends_afterwards_takes_nothing_back(
        self, process: Process, tenant_a: Tenant
    ) -> None:
        put(store, tenant_a)
        (held,) = process.claim()
        process.execute(held)
        process.hand.conclude(held, Release())
        process.hand.settle()
        assert Task.objects.get().state == TaskState.SUCCEEDED


class TestNeitherIsCommitted:
    @pytest.mark.parametrize(
        ("declared", "error"),
        [
            (break_off, "ValueError"),
            (settle_inside_itself, "RuntimeError"),
            (settle_inside_a_transaction, "RuntimeError"),
            (roll_back_quietly, "TransactionManagementError"),
            (swallow_an_error, "TransactionManagementError"),
            (give_what_cannot_be_kept, "InvalidTask"),
            (forget_that_the_orm_is_synchronous, "SynchronousOnlyOperation"),
        ],
    )
    def test_failure_is_an_ordinary_one(
        self, process: Process, tenant_a: Tenant, declared: Any, error: str
    ) -> None:
        put(declared, tenant_a, max_attempts=1)
        assert failure(process.run()) == error

        assert Task.objects.get().state == TaskState.DEAD
        assert not has_written()
        assert process.board.tally() == Tally(failed=1)
        assert not Refusal.objects.exists()

    def test_zombie_whose_lease_was_ended(self, process: Process, tenant_a: Tenant) -> None:
        put(store, tenant_a)
        OTHERS.append(lambda: ledger.reap(ledger.held_leases()))
        assert failure(process.run()) == "StaleLease"

        assert not has_written()
        assert Task.objects.get().state == TaskState.QUEUED
        verbs = Refusal.objects.values_list("generation", "verb")
        assert set(verbs) == {(1, "settle")}
        assert process.board.tally() == Tally(refused=1)

    def test_zombie_whose_task_another_worker_runs(
        self, process: Process, tenant_a: Tenant
    ) -> None:
        def reap_and_claim() -> None:
            held = ledger.held_leases()
            ledger.reap(held, uncharged={one.task_id for one in held})
            assert ledger.claim(uuid4(), limit=1).claims

        put(store, tenant_a)
        OTHERS.append(reap_and_claim)
        verdict = process.run()

        assert isinstance(verdict, Fail)
        assert "generation 2 holds it now" in verdict.failure.message
        assert not has_written()
        assert Lease.objects.get().generation == 2

    def test_worker_that_could_not_renew_in_time_fences_itself(
        self, process: Process, tenant_a: Tenant
    ) -> None:
        put(store, tenant_a)
        (held,) = process.claim()
        OTHERS.append(held.lose)
        assert failure(process.execute(held)) == "StaleLease"
        assert not has_written()


class TestRenewing:
    def settled(self, process: Process, tenant: Tenant) -> Held:
        """By a handler that is still at work."""
        put(store, tenant)
        (held,) = process.claim()
        process.executor.execute(held)
        return held

    def test_what_was_settled_is_not_renewed(self, process: Process, tenant_a: Tenant) -> None:
        held = self.settled(process, tenant_a)
        assert process.hand.leased() == []
        process.heart.run()
        assert not held.lease_lost.is_set()

    def test_renewal_that_crosses_with_the_settlement_is_no_refusal(
        self, process: Process, tenant_a: Tenant
    ) -> None:
        held = self.settled(process, tenant_a)
        renewal = ledger.renew([held.claim])
        assert renewal.stale == []
        assert not Refusal.objects.exists()

    def test_handler_that_goes_on_is_not_told_that_it_lost_its_lease(
        self, process: Process, tenant_a: Tenant
    ) -> None:
        held = self.settled(process, tenant_a)
        held.lease_ends_at = 1.0
        process.watch.look(2.0)
        assert not held.lease_lost.is_set()


def test_task_that_another_connection_reaps_during_the_block_leaves_no_row(
    process: Process, tenant_a: Tenant, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--database") == "sqlite":
        pytest.skip("there the block keeps every other writer out")

    def reap_elsewhere() -> None:
        def reap() -> None:
            ledger.reap(ledger.held_leases())
            connections.close_all()

        thread = Thread(target=reap)
        thread.start()
        thread.join()

    put(store_in_the_middle_of_things, tenant_a)
    OTHERS.append(reap_elsewhere)
    assert failure(process.run()) == "StaleLease"
    assert not has_written()


@task()
def store_in_the_middle_of_things(context: Context) -> None:
    with context.settle():
        write()
        meanwhile()
