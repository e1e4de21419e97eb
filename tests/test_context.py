"""What a handler is told about its own execution."""

from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Any
from uuid import UUID, uuid4

import pytest

from scheduling import ids
from scheduling.compat import TaskContext, TaskResultStatus, task
from scheduling.context import Context
from scheduling.errors import Snoozed
from scheduling.ledger.values import Claim

NOW = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
A_WHILE = timedelta(seconds=50)


@task()
def handler(context: Any, number: int) -> None: ...


@pytest.fixture
def claim() -> Claim:
    return Claim(
        task_id=ids.uuid7(),
        worker=uuid4(),
        generation=4,
        tenant_id=1,
        tenant="acme",
        lane_id=1,
        name=handler.ledger_name,
        queue="default",
        args_json="[7]",
        kwargs_json="{}",
        attempt=2,
        max_attempts=3,
        timeout_seconds=None,
        deadline=NOW,
        due_at=NOW,
        acquired_at=NOW,
        expires_at=NOW + timedelta(seconds=30),
    )


@pytest.fixture
def cancelled() -> Event:
    return Event()


@pytest.fixture
def lease_lost() -> Event:
    return Event()


@pytest.fixture
def context(claim: Claim, cancelled: Event, lease_lost: Event) -> Context:
    return Context(claim, handler, cancelled, lease_lost)


def test_it_tells_the_handler_what_it_runs(context: Context, claim: Claim) -> None:
    assert (context.task_id, context.tenant) == (claim.task_id, "acme")
    assert (context.attempt, context.max_attempts) == (2, 3)
    assert context.generation == context.fencing_token == 4
    assert context.deadline == NOW


def test_it_is_the_frameworks_context_too(context: Context, claim: Claim) -> None:
    assert TaskContext in type(context).__mro__
    result = context.task_result
    assert UUID(result.id) == claim.task_id
    assert result.status == TaskResultStatus.RUNNING
    assert result.args == [7]
    assert result.attempts == context.attempt
    assert result.worker_ids[-1] == str(claim.worker)


def test_it_hears_of_a_cancellation_and_of_a_lost_lease(
    context: Context, cancelled: Event, lease_lost: Event
) -> None:
    def heard() -> tuple[bool, bool, bool]:
        return context.cancelled, context.lease_lost, context.should_stop

    assert heard() == (False, False, False)
    lease_lost.set()
    assert heard() == (False, True, True)
    lease_lost.clear()
    cancelled.set()
    assert heard() == (True, False, True)


def test_waiting_ends_when_the_time_is_up(context: Context) -> None:
    assert context.wait(timedelta(0)) is False
    assert context.wait(timedelta(milliseconds=1)) is False


@pytest.mark.parametrize("reason", ["cancelled", "lease_lost"])
def test_waiting_ends_when_the_handler_should_stop(
    context: Context, reason: str, request: pytest.FixtureRequest
) -> None:
    answers: list[bool] = []
    waiting = Thread(target=lambda: answers.append(context.wait(A_WHILE)))
    waiting.start()
    request.getfixturevalue(reason).set()
    waiting.join(A_WHILE.total_seconds() / 2)
    assert answers == [True]


@pytest.mark.parametrize(
    ("made", "fraction"), [(0, 0.0), (0.25, 0.25), (1, 1.0), ((3, 12), 0.25), ((0, 0), 0.0)]
)
def test_progress_is_a_fraction_or_so_many_of_so_many(
    context: Context, made: Any, fraction: float
) -> None:
    context.progress(made, "half a pair \ud83d")
    assert context.said is not None
    assert context.said.fraction == fraction
    assert context.said.note == "half a pair \\ud83d"


@pytest.mark.parametrize("made", [-0.1, 1.1, float("nan"), (2, 1), (1, -2), (1, 0)])
def test_progress_that_is_no_fraction_is_refused(context: Context, made: Any) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        context.progress(made)
    assert context.said is None


def test_snoozing_ends_the_attempt(context: Context) -> None:
    with pytest.raises(Snoozed) as snoozed:
        context.snooze(timedelta(minutes=5))
    assert snoozed.value.delay == timedelta(minutes=5)


def test_nobody_can_snooze_into_the_past(context: Context) -> None:
    with pytest.raises(ValueError, match="negative"):
        context.snooze(timedelta(seconds=-1))
