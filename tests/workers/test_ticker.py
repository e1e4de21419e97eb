"""When a worker process looks at recurring tasks: at the next tick, when it is told to, and once a second."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from scheduling import ledger
from scheduling.errors import Overloaded
from scheduling.ledger import Fired
from scheduling.workers.ticker import Ticker
from tests.workers.kit import NOON, Clock


@pytest.fixture
def ticker(moved_clock: Clock) -> Ticker:
    return Ticker()


Answer = Callable[[Fired], None]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """What the ledger says when it is asked to fire."""
    return lambda fired: monkeypatch.setattr(ledger, "fire_due", lambda: fired)


def in_seconds(seconds: float | None, *, fired: int = 0, looked_at: int = 0) -> Fired:
    next_look = None if seconds is None else NOON + timedelta(seconds=seconds)
    return Fired(fired, looked_at, next_look, NOON)


@pytest.mark.parametrize(
    ("found", "waits"),
    [
        (in_seconds(0.3), 0.3),
        (in_seconds(3600), 1.0),
        (in_seconds(None), 1.0),
        (in_seconds(-0.5, fired=100, looked_at=100), 0.0),
        (in_seconds(-0.5, looked_at=1), 0.0),
        (in_seconds(-0.5), 0.1),
    ],
    ids=[
        "the next tick is near",
        "it is far",
        "there is none",
        "there is more",
        "there is more to account for",
        "another process is at it",
    ],
)
def test_the_next_look_comes_when_there_is_something_to_do(
    ticker: Ticker, answer: Answer, moved_clock: Clock, found: Fired, waits: float
) -> None:
    answer(found)
    ticker.run()
    assert ticker.due_at == pytest.approx(moved_clock.seconds + waits)


def test_a_call_makes_it_look_at_once(ticker: Ticker, answer: Answer) -> None:
    answer(in_seconds(3600))
    ticker.run()
    ticker.look_now()
    assert ticker.due_at == 0.0


def test_an_overloaded_system_is_left_in_peace(
    ticker: Ticker, moved_clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> Fired:
        raise Overloaded("The disk is nearly full.", retry_after=timedelta(seconds=5))

    monkeypatch.setattr(ledger, "fire_due", full)
    ticker.run()
    assert ticker.due_at == moved_clock.seconds + 5
