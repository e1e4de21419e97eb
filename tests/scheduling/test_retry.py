"""When a failed attempt is tried again."""

from datetime import timedelta
from random import Random

import pytest

from scheduling.retry import CAP, FAILED_BASE, LOST_BASE, backoff, ceiling


class Fixed(Random):
    """Draws one number for ever."""

    def __init__(self, draw: float) -> None:
        super().__init__()
        self.draw = draw

    def random(self) -> float:
        return self.draw


@pytest.mark.parametrize("attempt", [16, 40, 64, 1_024, 10_000])
@pytest.mark.parametrize("base", [FAILED_BASE, LOST_BASE])
def test_late_attempts_wait_no_longer_than_the_cap_of_an_hour(
    attempt: int, base: timedelta
) -> None:
    assert ceiling(attempt, base=base) == timedelta(hours=1) == CAP


def test_the_longest_delay_doubles_with_every_attempt() -> None:
    longest = [ceiling(attempt).total_seconds() for attempt in range(1, 12)]
    assert longest == [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600]


def test_a_lost_worker_is_made_up_for_sooner_than_a_failure() -> None:
    assert ceiling(1, base=LOST_BASE) == timedelta(milliseconds=400)


def test_what_was_never_charged_waits_like_a_first_attempt() -> None:
    assert ceiling(0) == ceiling(1)


def test_a_base_beyond_the_cap_is_the_cap() -> None:
    assert ceiling(1, base=timedelta(days=400)) == CAP


def test_a_cap_of_ones_own_is_never_passed() -> None:
    cap = timedelta(seconds=5)
    assert ceiling(3, cap=cap) == backoff(3, cap=cap, rng=Fixed(1.0)) == cap


@pytest.mark.parametrize("attempt", [1, 3, 10_000])
def test_the_delay_lies_anywhere_between_nothing_and_the_longest(attempt: int) -> None:
    assert backoff(attempt, rng=Fixed(0.0)) == timedelta(0)
    assert backoff(attempt, rng=Fixed(0.5)) == ceiling(attempt) / 2
    assert backoff(attempt, rng=Fixed(1.0)) == ceiling(attempt)


def test_a_thousand_failures_of_one_instant_spread_over_the_whole_of_it() -> None:
    rng = Random(1)
    delays = [backoff(16, rng=rng) for _ in range(1_000)]
    assert all(timedelta(0) <= delay <= CAP for delay in delays)
    per_tenth = [sum(delay // (CAP / 10) == tenth for delay in delays) for tenth in range(10)]
    assert min(per_tenth) > 60, "an even spread has a hundred in every tenth"
    assert len(set(delays)) == 1_000
