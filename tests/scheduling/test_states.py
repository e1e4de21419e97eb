"""The words a task's life is told in."""

import pytest

from scheduling.states import DeadReason, Outcome, Readiness, TaskState


def test_a_task_is_in_one_of_five_states() -> None:
    assert set(TaskState) == {"queued", "running", "succeeded", "dead", "cancelled"}


@pytest.mark.parametrize("state", TaskState)
def test_only_what_waits_or_runs_goes_on(state: TaskState) -> None:
    assert state.is_terminal is (state not in {TaskState.QUEUED, TaskState.RUNNING})


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_is_charged_but_a_snooze_and_a_release(outcome: Outcome) -> None:
    assert outcome.is_charged is (outcome not in {Outcome.SNOOZED, Outcome.RELEASED})


@pytest.mark.parametrize("enum", [TaskState, Outcome, DeadReason])
def test_words_are_stored_as_they_are_said(
    enum: type[TaskState] | type[Outcome] | type[DeadReason],
) -> None:
    for member in enum:
        assert str(member) == member.value == member.name.lower()


def test_only_one_readiness_is_looked_at_by_dispatch() -> None:
    assert [member.name for member in Readiness if member == 1] == ["READY"]
