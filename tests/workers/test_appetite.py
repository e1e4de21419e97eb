"""How far a process claims ahead."""

import pytest

from scheduling.workers.appetite import (
    CLAIM_TIMES,
    CLAIMS_WITHIN,
    FEWEST_SAMPLES,
    HORIZON,
    HORIZON_LEAST,
    MOST_AHEAD,
    SAMPLES,
    ahead,
    horizon,
)

LITTLE = 20e-6
ENOUGH = FEWEST_SAMPLES


def test_nothing_is_claimed_ahead_before_anything_is_known() -> None:
    assert ahead([], 8) == 0
    assert ahead([LITTLE] * (ENOUGH - 1), 8) == 0


def test_short_tasks_are_claimed_ahead_as_many_as_the_slots_get_through_within_the_horizon() -> (
    None
):
    assert ahead([HORIZON / 2] * ENOUGH, 8) == 16


def test_no_more_than_the_most_is_claimed_ahead_however_short_the_tasks() -> None:
    assert ahead([LITTLE] * SAMPLES, 8) == MOST_AHEAD
    assert ahead([0.0] * SAMPLES, 8) == MOST_AHEAD


def test_one_long_task_among_many_short_ones_ends_it() -> None:
    assert ahead([LITTLE] * (SAMPLES - 1) + [60.0], 8) == 0


@pytest.mark.parametrize("seconds", [0.1, 1.0, 60.0])
def test_long_tasks_are_never_claimed_ahead(seconds: float) -> None:
    assert ahead([seconds] * SAMPLES, 8) == 0


def test_slots_stuck_in_long_tasks_do_not_count() -> None:
    assert ahead([HORIZON] * ENOUGH, 0) == 0
    assert ahead([HORIZON] * ENOUGH, 3) == 3


def test_the_longer_claims_take_the_more_work_is_held_within_bounds() -> None:
    assert horizon([]) == HORIZON
    assert horizon([0.002] * CLAIM_TIMES) == CLAIMS_WITHIN * 0.002
    assert horizon([0.0] * CLAIM_TIMES) == HORIZON_LEAST
    assert horizon([1.0] * CLAIM_TIMES) == HORIZON


def test_a_claim_that_took_long_for_once_changes_nothing() -> None:
    assert horizon([0.002] * (CLAIM_TIMES - 1) + [5.0]) == horizon([0.002] * CLAIM_TIMES)


def test_half_as_long_a_horizon_is_half_as_much_ahead() -> None:
    tasks = [HORIZON / 10] * ENOUGH
    assert ahead(tasks, 8, HORIZON / 2) == ahead(tasks, 8) // 2 == 40
