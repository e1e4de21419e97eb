"""Rows that somebody broke by hand: the ledger goes on, and the work around them flows.

A task whose arguments have the wrong shape is claimed like any other, and fails like any other when they are
unpacked. A schedule or a lease whose task was deleted goes with the claim or the reaper that meets it; what is
left is the count of a task that came in and never finished, and `checkledger` tells of it.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from scheduling import ledger, payload
from scheduling.ledger import check
from scheduling.ledger.values import Succeed
from scheduling.models import Attempt, Lease, Schedule, Task
from scheduling.states import DeadReason, TaskState
from tenants.models import Tenant
from tests.ledger.kit import START, at, failing, put, run, say, take, task

pytestmark = pytest.mark.django_db(transaction=True)


def delete(task_id: UUID) -> None:
    """The row alone, as a hand on the database would."""
    assert Task.objects.filter(pk=task_id)._raw_delete("default") == 1


def one_never_finished(tenant: Tenant) -> list[str]:
    return [f"tenant {tenant.pk}: 1 unfinished by its counters, 0 by its tasks"]


@pytest.mark.parametrize(
    "broken", [{"args": {"not": "a list"}}, {"kwargs": ["not an object"]}, {"args": 7}], ids=str
)
def test_arguments_of_the_wrong_shape_fail_their_own_task_only(
    tenant_a: Tenant, broken: dict[str, Any]
) -> None:
    bad, good = put(tenant_a, 2)
    Task.objects.filter(pk=bad).update(**broken)
    claims = {claim.task_id: claim for claim in take(2)}
    with pytest.raises(ValueError, match="not a list and an object"):
        claims[bad].arguments()
    say(claims[bad], failing(retry_in=None))
    run([claims[good]])
    assert (task(bad).state, task(good).state) == (TaskState.DEAD, TaskState.SUCCEEDED)
    assert check.violations() == []


def test_arguments_nested_too_deep_to_be_read_are_told_like_any_that_are_broken(
    tenant_a: Tenant,
) -> None:
    put(tenant_a)
    (claim,) = take()
    deep = "[" * 100_000 + "]" * 100_000
    with pytest.raises(ValueError, match="nested too deep"):
        replace(claim, args_json=deep).arguments()


def test_a_schedule_whose_task_is_gone_is_dropped_by_the_claim_that_meets_it(
    tenant_a: Tenant,
) -> None:
    gone, kept = put(tenant_a, 2)
    delete(gone)
    assert run([*take(2), *take(2)]) == [kept]
    assert not Schedule.objects.exists()
    assert check.violations() == one_never_finished(tenant_a)


def test_a_schedule_whose_task_is_gone_is_dropped_beside_a_paused_name_too(
    tenant_a: Tenant,
) -> None:
    ledger.pause(name="demo.sleep", by="operator", now=START)
    gone, kept = put(tenant_a, 2)
    delete(gone)
    assert run([*take(2), *take(2)]) == [kept]
    assert not Schedule.objects.exists()
    assert not ledger.claim(uuid4(), limit=1, now=START).contended
    assert check.violations() == one_never_finished(tenant_a)


def test_a_lease_whose_task_is_gone_keeps_no_other_from_being_reaped(tenant_a: Tenant) -> None:
    gone, kept = put(tenant_a, 2)
    take(2)
    delete(gone)
    ended = ledger.reap(ledger.held_leases(), now=at(11))
    assert [one.task_id for one in ended] == [kept]
    assert not Lease.objects.exists()
    assert run(take(now=at(60)), now=at(60)) == [kept]
    assert check.violations() == one_never_finished(tenant_a)


def test_a_lease_whose_task_is_gone_spoils_no_batch_of_settlements(tenant_a: Tenant) -> None:
    gone, kept = put(tenant_a, 2)
    claims = take(2)
    delete(gone)
    settling = say(claims, failing(), now=at(1))
    assert [one.task_id for one in settling.settled] == [kept]
    assert [stale.task_id for stale in settling.stale] == [gone]
    assert run(take(now=at(1)), now=at(1)) == [kept]
    assert check.violations() == one_never_finished(tenant_a)


def test_a_success_whose_task_is_gone_spoils_no_batch_either(tenant_a: Tenant) -> None:
    """Where successes do not read their tasks it leaves an attempt of nothing, elsewhere it is refused."""
    gone, kept = put(tenant_a, 2)
    claims = take(2)
    delete(gone)
    settling = say(claims, Succeed(), now=at(1))
    assert task(kept).state == TaskState.SUCCEEDED
    told = set(Attempt.objects.values_list("task", flat=True))
    if settling.stale:
        assert told == {kept}
        assert check.violations() == one_never_finished(tenant_a)
    else:
        assert told == {gone, kept}
        assert check.violations() == []


def test_cancelling_a_task_that_is_gone_says_that_nobody_knows_it(tenant_a: Tenant) -> None:
    gone, kept = put(tenant_a, 2)
    delete(gone)
    answers = ledger.cancel([gone, kept], now=at(1))
    assert [one.state for one in answers] == [None, TaskState.CANCELLED]


ONLY_SQLITE = pytest.mark.skipif(
    connection.vendor != "sqlite",
    reason="PostgreSQL keeps nothing in a column that is not of its type.",
)


def overwrite(table: str, column: str, value: str | bytes | int, task_id: UUID) -> None:
    """By hand, in SQL, past every constraint."""
    key = "id" if table == "task" else "task_id"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        statement = f"UPDATE scheduling_{table} SET {column} = %s WHERE {key} = %s"  # noqa: S608
        cursor.execute(statement, [value, task_id.hex])
        cursor.execute("PRAGMA ignore_check_constraints = OFF")


@ONLY_SQLITE
@pytest.mark.parametrize("value", ["soon", "2027-02-30 00:00:00", 7, b"\xff"], ids=repr)
def test_a_schedule_with_a_broken_instant_is_set_aside_and_told(
    tenant_a: Tenant, value: str | bytes | int
) -> None:
    bad, *good = put(tenant_a, 3, priority=5)
    overwrite("schedule", "due_at", value, bad)
    assert {claim.task_id for limit in (1, 5) for claim in take(limit)} == set(good)
    assert take() == []
    assert any("no pause is there that holds it" in violation for violation in check.violations())


@ONLY_SQLITE
@pytest.mark.parametrize("value", ["soon", "2027-02-30 00:00:00", 7], ids=repr)
def test_a_future_schedule_with_a_broken_instant_keeps_nobody_from_being_promoted(
    tenant_a: Tenant, value: str | bytes | int
) -> None:
    bad, good = put(tenant_a, 2, due_at=at(60))
    overwrite("schedule", "due_at", value, bad)
    assert ledger.promote(now=START).next_due == at(60)
    assert good in {claim.task_id for claim in take(5, now=at(61))}


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("attempts", "many"),
        ("max_attempts", "more"),
        ("generation", "x"),
        ("timeout_seconds", "a while"),
        ("deadline", "zzz"),
    ],
)
def test_a_waiting_task_that_cannot_be_read_is_a_dead_letter(
    tenant_a: Tenant, column: str, value: str
) -> None:
    bad, good = put(tenant_a, 2)
    overwrite("task", column, value, bad)
    assert [claim.task_id for claim in take(5)] == [good]
    assert Task.objects.values_list("state", "dead_reason", "finished_at").get(pk=bad) == (
        TaskState.DEAD,
        DeadReason.UNREADABLE,
        START,
    )


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("worker", "somebody"),
        ("seconds", "long"),
        ("expires_at", "later"),
        ("acquired_at", "before"),
        ("due_at", 3),
    ],
)
def test_a_lease_that_cannot_be_read_keeps_no_other_from_being_reaped(
    tenant_a: Tenant, column: str, value: str | int
) -> None:
    bad, good = put(tenant_a, 2)
    take(2)
    overwrite("lease", column, value, bad)
    assert [one.task_id for one in ledger.reap(ledger.held_leases(), now=at(11))] == [good]
    assert task(good).attempts == 1


@ONLY_SQLITE
@pytest.mark.parametrize("column", ["attempts", "max_attempts", "priority", "deadline"])
def test_a_running_task_that_cannot_be_read_holds_up_neither_its_batch_nor_the_reaper(
    tenant_a: Tenant, column: str
) -> None:
    bad, good, lost = put(tenant_a, 3)
    claims = take(3)
    overwrite("task", column, "x", bad)
    say([claim for claim in claims if claim.task_id != lost], failing(), now=at(1))
    assert task(good).state == TaskState.QUEUED
    assert not Schedule.objects.filter(pk=bad).exists()
    assert [one.task_id for one in ledger.reap(ledger.held_leases(), now=at(11))] == [lost]


@pytest.mark.parametrize("number", [1e16, 1e22, -1.7976931348623157e308, 5e-324, 0.1])
def test_no_number_is_taken_for_a_broken_one(tenant_a: Tenant, number: float) -> None:
    """PostgreSQL writes all of them out in full."""
    (task_id,) = put(tenant_a, args=[number], kwargs={"number": number})
    (claim,) = take()
    assert claim.arguments() == ([number], {"number": number})
    say(claim, Succeed(payload.dumps(number)))
    kept = task(task_id)
    assert (kept.args, kept.kwargs, kept.result) == ([number], {"number": number}, number)
