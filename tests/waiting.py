"""The one place where tests wait for other processes."""

from collections.abc import Callable
from threading import Event
from typing import TypeVar

from scheduling import clock

LOOK = 0.02
T = TypeVar("T")


def until(look: Callable[[], T], *, seconds: float = 60.0, what: str = "") -> T:
    """Look again and again until the answer is true, and return it.

    AssertionError after so many seconds: a bound for when it never comes, not an expectation.
    """
    give_up_at = clock.monotonic() + seconds
    while not (answer := look()):
        assert clock.monotonic() < give_up_at, f"waited {seconds:g} s in vain {what}".rstrip()
        Event().wait(LOOK)
    return answer
