"""How instants, durations and counts are said."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from scheduling.admin import words
from scheduling.counts import counted

NOON = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 ms"),
        (0.25, "250 ms"),
        (2.5, "2.5 s"),
        (42, "42 s"),
        (59.6, "1 min"),
        (90, "1 min 30 s"),
        (3600, "1 h"),
        (3661, "1 h 1 min"),
        (86_400 * 2 + 60, "2 d"),
    ],
)
def test_a_duration_is_said_in_its_two_largest_units(seconds: float, said: str) -> None:
    assert words.lasting(timedelta(seconds=seconds)) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-0.5, "now"),
        (-90, "1 min 30 s ago"),
        (-750, "12 min ago"),
        (750, "in 12 min"),
        (5 * 3600 + 1800, "in 5 h 30 min"),
    ],
)
def test_an_age_leaves_out_what_would_not_matter(seconds: float, said: str) -> None:
    assert words.age(NOON + timedelta(seconds=seconds), NOON) == said


def test_an_instant_is_said_in_utc_with_the_zone() -> None:
    berlin = timezone(timedelta(hours=1))
    assert words.exact(NOON.astimezone(berlin)) == "2027-01-04 12:00:00 UTC"


def test_the_last_year_there_is_can_be_said_in_a_zone_ahead_of_utc() -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert words.exact(last) == "9999-12-31 23:59:59 UTC"
    assert "9999-12-31 23:59:59 UTC" in words.stamp(last, NOON)


def test_what_did_not_happen_is_a_dash() -> None:
    assert words.stamp(None, NOON) == words.NOTHING


def test_counts_set_thousands_apart() -> None:
    assert counted(1, "task") == "1 task"
    assert counted(12_000, "task") == "12,000 tasks"
