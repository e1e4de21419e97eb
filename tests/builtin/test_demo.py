"""Tasks to try an installation out with."""

from threading import Event

import pytest

from scheduling.errors import InvalidTask, PermanentFailure
from tests.builtin.kit import perform


def test_echo_gives_back_what_it_got() -> None:
    assert perform("demo.echo") == {}
    assert perform("demo.echo", message="hello", more=[1]) == {"message": "hello", "more": [1]}


def test_sleep_takes_its_time() -> None:
    assert perform("demo.sleep", seconds=0.001) == {"seconds": 0.001}


def test_sleep_stops_when_it_is_asked_to() -> None:
    cancelled = Event()
    cancelled.set()
    with pytest.raises(InterruptedError):
        perform("demo.sleep", seconds=3600, cancelled=cancelled)


@pytest.mark.parametrize("seconds", [-1, 86_401])
def test_nobody_sleeps_longer_than_a_day(seconds: float) -> None:
    with pytest.raises(PermanentFailure, match="seconds must be from 0 to 86400"):
        perform("demo.sleep", seconds=seconds)


def test_sleep_takes_numbers_only() -> None:
    with pytest.raises(InvalidTask, match=r"payload\.seconds: must be a number"):
        perform("demo.sleep", seconds="1")


def test_flaky_fails_as_often_as_told_and_then_succeeds() -> None:
    for attempt in (1, 2):
        with pytest.raises(RuntimeError, match=f"Attempt {attempt} of 2"):
            perform("demo.flaky", failures=2, attempt=attempt)
    assert perform("demo.flaky", failures=2, attempt=3) == {"attempt": 3}
