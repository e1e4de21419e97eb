"""Scenarios 12, 31, 32: handlers that end as nobody would, or say what no database takes, or too much of it."""

from uuid import UUID

import pytest

from scheduling.models import Attempt
from scheduling.returned import RESULT_LIMIT
from scheduling.states import DeadReason, TaskState
from scheduling.workers.verdicts import MESSAGE_LIMIT, TRACEBACK_LIMIT
from tenants.models import Tenant
from tests.app import endings, tasks
from tests.faults.conftest import Start
from tests.faults.kit import enqueue, outcomes, the_task, wait_for_state
from tests.waiting import until

SLOW_LEASE = "--lease-seconds=300"
QUOTES = 2
"""Characters that JSON adds to a text."""


def test_every_ending_is_a_failed_attempt_and_the_worker_lives(
    start_workers: Start, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", "--threads=2", SLOW_LEASE)
    ended = {
        enqueue(handler, ending, tenant=tenant_a, max_attempts=1): ending
        for ending in endings.ENDINGS
        for handler in (endings.end_with, endings.end_with_on_the_loop)
    }

    for task_id, ending in ended.items():
        task = wait_for_state(task_id, TaskState.DEAD)
        assert task.dead_reason == DeadReason.ATTEMPTS_EXHAUSTED
        charged = [one for one in outcomes(task_id) if one != "released"]  # by a slow machine
        assert charged == ["failed"]
        assert error_of(task_id)["class"] == ending.partition(" ")[0]
    wait_for_state(enqueue(tasks.noop, tenant=tenant_a), TaskState.SUCCEEDED)
    assert Attempt.objects.values("worker").distinct().count() == 1


def test_error_that_no_database_takes_is_kept_escaped_and_the_task_is_tried_again(
    start_workers: Start, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SLOW_LEASE)
    task_id = enqueue(endings.fail_wildly, tenant=tenant_a, max_attempts=100)

    until(lambda: outcomes(task_id)[:1] == ["failed"])

    assert the_task(task_id).state != TaskState.DEAD
    assert error_of(task_id)["message"] == r"NUL \u0000, half a pair \ud83d"
    assert r"half a pair \ud83d" in Attempt.objects.filter(task=task_id)[0].error["traceback"]


def test_error_of_fifty_megabytes_is_kept_cut_and_says_so(
    start_workers: Start, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SLOW_LEASE)
    task_id = enqueue(endings.fail_at_length, tenant=tenant_a, max_attempts=1)

    wait_for_state(task_id, TaskState.DEAD)

    error = Attempt.objects.get(task=task_id).error
    assert len(error["message"]) <= MESSAGE_LIMIT
    assert len(error["traceback"]) <= TRACEBACK_LIMIT
    left_out = endings.MEGABYTES - MESSAGE_LIMIT
    assert f"… {left_out:,} characters left out …" in error_of(task_id)["message"]


@pytest.mark.parametrize("over", [0, 1, endings.MEGABYTES])
def test_result_over_the_limit_is_a_failure_that_names_the_limit(
    over: int, start_workers: Start, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SLOW_LEASE)
    length = RESULT_LIMIT - QUOTES + over
    task_id = enqueue(endings.return_text, length, tenant=tenant_a)

    until(lambda: the_task(task_id).is_terminal)

    if over:
        assert the_task(task_id).dead_reason == DeadReason.PERMANENT_FAILURE
        assert f"at most {RESULT_LIMIT:,} are kept" in error_of(task_id)["message"]
        assert the_task(task_id).result is None
    else:
        assert the_task(task_id).result == "x" * length


def error_of(task_id: UUID) -> dict[str, str]:
    error: dict[str, str] = the_task(task_id).error
    return error
