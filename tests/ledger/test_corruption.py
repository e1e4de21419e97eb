"""Rows that somebody broke by hand: the ledger goes on, and the work around them flows.

A task whose arguments have the wrong shape is claimed like any other, and fails like any other when they are
unpacked. A schedule or a lease whose task was deleted goes with the claim or the reaper that meets it; what is
left is the count of a task that came in and never finished, and `checkledger` tells of it.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from scheduling import ledger
from scheduling.ledger import check
from scheduling.ledger.values import Succeed
from scheduling.models import Attempt, Lease, Schedule, Task
from scheduling.states import TaskState
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


def test_a_success_whose_task_is_gone_is_told_as_an_attempt_of_nothing(tenant_a: Tenant) -> None:
    """A success does not read its task; what it leaves is one attempt, and every counter right."""
    gone, kept = put(tenant_a, 2)
    claims = take(2)
    delete(gone)
    say(claims, Succeed(), now=at(1))
    assert task(kept).state == TaskState.SUCCEEDED
    assert set(Attempt.objects.values_list("task", flat=True)) == {gone, kept}
    assert check.violations() == []


def test_cancelling_a_task_that_is_gone_says_that_nobody_knows_it(tenant_a: Tenant) -> None:
    gone, kept = put(tenant_a, 2)
    delete(gone)
    answers = ledger.cancel([gone, kept], now=at(1))
    assert [one.state for one in answers] == [None, TaskState.CANCELLED]
