"""Instants as clients write them, and which of them a task may have."""

from datetime import UTC, datetime, timedelta

import pytest

from scheduling.errors import InvalidTask
from scheduling.instants import FURTHEST, LATE_BY_MOST, Timing, parse_instant, timing

NOW = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2027-03-28T02:30:00Z", datetime(2027, 3, 28, 2, 30, tzinfo=UTC)),
        ("2027-03-28t02:30:00z", datetime(2027, 3, 28, 2, 30, tzinfo=UTC)),
        ("2027-03-28 02:30:00+02:00", datetime(2027, 3, 28, 0, 30, tzinfo=UTC)),
        ("2027-03-28T02:30:00.25-11:30", datetime(2027, 3, 28, 14, 0, 0, 250_000, tzinfo=UTC)),
        ("2027-03-28T02:30:00.123456789Z", datetime(2027, 3, 28, 2, 30, 0, 123_456, tzinfo=UTC)),
    ],
)
def test_an_instant_with_a_zone_is_read_as_utc(text: str, instant: datetime) -> None:
    parsed = parse_instant(text)
    assert parsed == instant
    assert parsed.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2027-03-28",
        "2027-03-28T02:30:00",
        "2027-W12-7T02:30:00Z",
        "2027-W12-7",
        "20270328T023000Z",
        "2027-03-28T02:30Z",
        "2027-03-28T02:30:00+0200",
        "2027-03-28T24:00:00Z",
        "2027-02-29T00:00:00Z",
        "2027-03-28T02:30:60Z",
        "2027-03-28T02:30:00+25:00",
        "9999-12-31T23:59:59-14:00",
        "0001-01-01T00:00:00+14:00",
        " 2027-03-28T02:30:00Z",
        "\N{FULLWIDTH DIGIT TWO}027-03-28T02:30:00Z",
    ],
)
def test_anything_else_is_refused_under_its_field(text: str) -> None:
    with pytest.raises(InvalidTask) as refusal:
        parse_instant(text, "created_after")
    assert list(refusal.value.errors) == ["created_after"]


def test_at_once_is_no_instant() -> None:
    assert timing(now=NOW) == Timing(None, None)


def test_a_delay_counts_from_now() -> None:
    assert timing(now=NOW, delay_seconds=90).due_at == NOW + timedelta(seconds=90)


def test_a_deadline_may_count_from_now() -> None:
    assert timing(now=NOW, deadline=timedelta(hours=2)).deadline == NOW + timedelta(hours=2)


def test_an_instant_just_missed_means_at_once() -> None:
    assert timing(now=NOW, due_at=NOW - LATE_BY_MOST).due_at is None


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("due_at", {"due_at": NOW - LATE_BY_MOST - SECOND}),
        ("due_at", {"due_at": NOW + FURTHEST + SECOND}),
        ("due_at", {"due_at": "9999-12-31T00:00:00Z"}),
        ("due_at", {"due_at": datetime(2027, 3, 28, 2, 30)}),  # noqa: DTZ001  # the point of it
        ("due_at", {"due_at": 1_800_000_000}),
        ("delay_seconds", {"delay_seconds": 1, "due_at": NOW}),
        ("delay_seconds", {"delay_seconds": -1}),
        ("delay_seconds", {"delay_seconds": float("nan")}),
        ("delay_seconds", {"delay_seconds": 10**400}),
        ("delay_seconds", {"delay_seconds": True}),
        ("delay_seconds", {"delay_seconds": "60"}),
        ("deadline", {"deadline": NOW}),
        ("deadline", {"deadline": NOW + SECOND, "due_at": NOW + SECOND}),
        ("deadline", {"deadline": "2027-W12-7"}),
    ],
)
def test_timing_that_cannot_be_meant_is_refused(field: str, given: dict[str, object]) -> None:
    with pytest.raises(InvalidTask) as refusal:
        timing(now=NOW, **given)  # type: ignore[arg-type]  # what a client may send
    assert list(refusal.value.errors) == [field]
