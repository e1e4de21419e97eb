"""Verbs that meet on the same rows wait for each other in line, and never in a circle.

A third session holds a row until two verbs have got as far as they can. In which order an unordered statement
goes through its rows is the planner's choice, so both choices are tried: in the order of the batch, as on a
table that has grown, and in the order of the table, as on a small one.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from importlib import import_module
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from scheduling import clock, ledger
from scheduling.errors import LimitExceeded
from scheduling.ledger import totals
from scheduling.ledger.minutes import hour_of
from scheduling.ledger.values import Claim, Fail, Failure, Settlement, Succeed
from scheduling.models import Hour, Task, Throughput
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.races.kit import LONGEST, Session, put, say, take

cancelling = import_module("scheduling.ledger.cancel")
redriving = import_module("scheduling.ledger.redrive")
"""The package has verbs of the same names."""

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.ledger]

Step = Callable[[Sequence[Claim]], object]
Sessions = tuple[Session, Session, Session]
RETRY = Fail(Failure("ValueError", "no luck"), timedelta(0))


@pytest.fixture(params=["nestloop", "hashjoin"])
def sessions(request: pytest.FixtureRequest) -> Iterator[Sessions]:
    """Two that plan their joins in that way, and one to hold a row."""
    with ExitStack() as stack:
        first, second, holder = (stack.enter_context(Session()) for _ in range(3))
        for session in (first, second):
            session.do(partial(plan_joins_as, request.param))
        yield first, second, holder


def plan_joins_as(method: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for other in {"nestloop", "hashjoin", "mergejoin"} - {method}:
                cursor.execute(f"SET enable_{other} = off")
            if method == "nestloop":
                cursor.execute("SET enable_seqscan = off")


@pytest.fixture
def claims(tenant_a: Tenant) -> tuple[Claim, Claim, Claim]:
    """In the order of their ids; their rows were last written in the opposite one."""
    for priority in range(3):
        put(tenant_a, priority=priority)
    high, middle, low = (take()[0] for _ in range(3))
    assert low.task_id < middle.task_id < high.task_id
    return low, middle, high


def reap(claims: Sequence[Claim], *, uncharged: Collection[UUID] = ()) -> object:
    held = {lease.task_id: lease for lease in ledger.held_leases()}
    return ledger.reap([held[claim.task_id] for claim in claims], uncharged=uncharged)


class Halt:
    """Stops a function of the ledger after its first call, and whoever made it, until told to go on."""

    def __init__(self, patch: pytest.MonkeyPatch, function: Callable[..., Any]) -> None:
        self.reached, self.go_on = Event(), Event()
        module = sys.modules[function.__module__]

        def halting(*args: Any, **options: Any) -> Any:
            answer = function(*args, **options)
            if not self.reached.is_set():
                self.reached.set()
                assert self.go_on.wait(LONGEST)
            return answer

        patch.setattr(module, function.__name__, halting)


def cancel(claims: Sequence[Claim]) -> object:
    return ledger.cancel([claim.task_id for claim in claims])


@pytest.mark.parametrize("other", [ledger.renew, reap, say])
def test_a_settlement_and_what_else_goes_for_its_leases_do_not_block_each_other(
    other: Step, claims: tuple[Claim, Claim, Claim], sessions: Sessions
) -> None:
    low, middle, high = claims
    first, second, holder = sessions
    with holder.transaction():
        holder.do(partial(ledger.renew, [middle]))
        one = first.start_and_wait_for_a_lock(partial(other, [low, middle, high]))
        two = second.start(partial(say, [high, low]))
        second.wait_for_a_lock_or(two)
    one.result()
    two.result()


def test_a_cancellation_and_a_settlement_do_not_block_each_other(
    claims: tuple[Claim, Claim, Claim], sessions: Sessions
) -> None:
    low, middle, high = claims
    first, second, holder = sessions
    with holder.transaction():
        holder.do(partial(cancel, [middle]))
        one = first.start_and_wait_for_a_lock(partial(say, [high, middle, low]))
        two = second.start(partial(cancel, [low, high]))
        second.wait_for_a_lock_or(two)
    one.result()
    two.result()
    assert Task.objects.filter(state=TaskState.SUCCEEDED).count() == 3


def test_a_cancellation_and_a_settlement_of_mixed_verdicts_do_not_block_each_other(
    claims: tuple[Claim, Claim, Claim], sessions: Sessions
) -> None:
    low, middle, high = claims
    first, second, holder = sessions
    mixed = [Settlement(low, Succeed()), Settlement(middle, Succeed()), Settlement(high, RETRY)]
    with holder.transaction():
        holder.do(partial(cancel, [low]))
        one = first.start_and_wait_for_a_lock(partial(ledger.settle, mixed))
        two = second.start(partial(cancel, [middle, high]))
        second.wait_for_a_lock_or(two)
    one.result()
    two.result()
    assert Task.objects.filter(state=TaskState.SUCCEEDED).count() == 2


def test_a_cancellation_and_a_reaping_that_charges_some_do_not_block_each_other(
    claims: tuple[Claim, Claim, Claim], sessions: Sessions
) -> None:
    low, middle, high = claims
    first, second, holder = sessions
    uncharged = {low.task_id, middle.task_id}
    with holder.transaction():
        holder.do(partial(cancel, [low]))
        one = first.start_and_wait_for_a_lock(partial(reap, claims, uncharged=uncharged))
        two = second.start(partial(cancel, [middle, high]))
        second.wait_for_a_lock_or(two)
    one.result()
    two.result()
    assert not ledger.held_leases()


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer at a time.")
def test_a_cancellation_in_a_transaction_lets_go_of_what_went_back_to_its_queue(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has looked for the schedule in vain and holds the task, as whoever claims it has the schedule."""
    [task_id] = put(tenant_a)
    claims = take()
    halt = Halt(monkeypatch, cancelling._cancel)

    def cancel_on_record() -> list[ledger.Cancelling]:
        with transaction.atomic():
            return ledger.cancel([task_id])

    with Session() as settler, Session() as canceller, Session() as worker:
        with settler.transaction():
            settler.do(partial(say, claims, RETRY))
            cancelled = canceller.start_and_wait_for_a_lock(cancel_on_record)
        assert halt.reached.wait(LONGEST)
        taken = worker.start_and_wait_for_a_lock(take)
        halt.go_on.set()
        assert [claim.task_id for claim in taken.result(LONGEST)] == [task_id]
        [answer] = cancelled.result(LONGEST)
    assert answer.state is TaskState.RUNNING
    assert answer.requested


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer at a time.")
def test_a_batch_of_dead_letters_of_which_half_fits_and_a_single_one_do_not_block_each_other(
    tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = sorted(put(tenant_a, 8))
    say(take(8), Fail(Failure("ValueError", "no luck"), None))
    Tenant.objects.filter(pk=tenant_a.pk).update(max_queued=7)
    letters = list(Task.objects.dead())
    redrive_one = partial(redriving.redriven, ids[-1:])
    halt = Halt(monkeypatch, redriving.redriven)  # the first that comes back is of a half
    with Session() as one, Session() as two:
        batch = one.start(partial(ledger.redrive_what_fits, letters, {}))
        assert halt.reached.wait(LONGEST)
        single = two.start_and_wait_for_a_lock(redrive_one)
        halt.go_on.set()
        assert len(batch.result(LONGEST)) == 7
        assert single.exception(LONGEST) is None or isinstance(single.exception(), LimitExceeded)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer at a time.")
def test_bookkeepers_of_different_minutes_do_not_block_each_other(
    tenant_a: Tenant, tenant_b: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later one finds the earlier one's hour too old to keep, while that is being added to."""
    now = clock.now().replace(second=0, microsecond=0)
    early, late = now - timedelta(days=10), now - timedelta(days=1)
    for tenant, minute in ((tenant_a, early), (tenant_b, late)):
        Throughput.objects.create(tenant=tenant, minute=minute, succeeded=1)
    Hour.objects.create(of_tenant=99, hour=hour_of(now - timedelta(days=20)))
    for owner in (tenant_a.pk, 0):
        Hour.objects.create(of_tenant=owner, hour=hour_of(early))
    halt = Halt(monkeypatch, totals.add_minutes)
    with Session() as one, Session() as two:
        first = one.start(partial(ledger.prune_throughput, limit=1))
        assert halt.reached.wait(LONGEST)
        second = two.start(partial(ledger.prune_throughput, limit=1))
        two.wait_for_a_lock_or(second)
        halt.go_on.set()
        assert [first.result(LONGEST), second.result(LONGEST)] == [1, 1]
    assert not Throughput.objects.exists()
