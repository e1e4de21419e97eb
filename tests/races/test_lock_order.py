"""Verbs that meet on the same rows wait for each other in line, and never in a circle.

A third session holds a row until two verbs have got as far as they can. In which order an unordered statement
goes through its rows is the planner's choice, so both choices are tried: in the order of the batch, as on a
table that has grown, and in the order of the table, as on a small one.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
from django.db import connection

from scheduling import ledger
from scheduling.ledger.values import Claim, Fail, Failure, Settlement, Succeed
from scheduling.models import Task
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.races.kit import Session, put, say, take

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
