"""How far something long has come, at a terminal and in a file."""

from enum import Enum

import pytest

from scheduling import clock
from scheduling.management.progress import LINE_EVERY, SHOWN_EVERY, Progress


class Phase(Enum):
    COPYING = "copying"
    COMPARING = "comparing"


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock, as the one item."""
    now = [100.0]
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    return now


def test_rate_and_what_is_left_are_told_of_the_phase_alone(now: list[float]) -> None:
    """What was done when it began, by a move that was killed, is no merit of this one."""
    shown: list[str] = []
    tell = Progress(shown.append, None)
    tell(Phase.COPYING, "tasks", 500, 1000)
    now[0] += 2
    tell(Phase.COPYING, "tasks", 700, 1000)
    tell(Phase.COMPARING, "tasks", 0, 1000)
    assert shown == [
        "copying tasks: 500 of 1000 rows (50 %)",
        "copying tasks: 700 of 1000 rows (70 %), 100 rows/s, 3 s left",
        "comparing tasks: 0 of 1000 rows (0 %)",
    ]


def test_a_terminal_is_told_often_and_a_file_now_and_then(now: list[float]) -> None:
    shown: list[str] = []
    lines: list[str] = []
    tell = Progress(shown.append, lines.append)
    for done in range(1, 51):
        tell(Phase.COPYING, "tasks", done, 50)
        now[0] += SHOWN_EVERY * 1.01
    assert len(shown) == 50
    assert len(lines) == 1
    now[0] += LINE_EVERY
    tell(Phase.COPYING, "tasks", 50, 50)
    assert len(lines) == 2


def test_steps_that_cannot_be_counted_are_named(now: list[float]) -> None:
    shown: list[str] = []
    Progress(shown.append, None)(Phase.COMPARING, "every page", 0, 0)
    assert shown == ["comparing every page"]
