"""Durations as people type them."""

from datetime import timedelta

import pytest

from scheduling.durations import parse


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("90s", timedelta(seconds=90)),
        ("10m", timedelta(minutes=10)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        ("1d2h3m4s", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        (" 5m ", timedelta(minutes=5)),
        ("36500d", timedelta(days=36_500)),
    ],
)
def test_units_can_be_given_alone_or_together(text: str, duration: timedelta) -> None:
    assert parse(text) == duration


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "m",
        "-5m",
        "0s",
        "5 m",
        "5w",
        "1.5h",
        "5m5h",
        "٣d",
        "36501d",
        "9" * 9 + "d",
        "9" * 5000,
    ],
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="Write it like 90s, 10m, 12h or 30d"):
        parse(text)
