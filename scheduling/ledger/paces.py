"""Owns how long the verbs take that workers wait for: claim, renew and settle, transaction and all.

Each process counts for itself, in memory, and now and then adds what it counted to the ledger, from which
metrics read the sums of all processes. A process that is killed takes along what it counted in the seconds
since; a commit whose answer was lost on the way is counted again with the next one.
"""

import os
from collections.abc import Callable
from functools import wraps
from itertools import accumulate
from threading import Lock
from typing import ParamSpec, TypeVar

from django.db import transaction
from django.db.models import F

from scheduling import clock
from scheduling.models.pace import SECONDS_UP_TO, TOOK, Pace
from scheduling.spread import Spread, place

PERIOD = 10.0
"""Seconds between two additions to the ledger."""
BOUNDS = tuple(SECONDS_UP_TO.values())

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


class Counted:
    """Calls of one verb, by this process, that the ledger does not know of."""

    def __init__(self) -> None:
        self.places = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self.places[place(seconds, BOUNDS)] += 1
        self.seconds += seconds

    def add_all(self, other: "Counted") -> None:
        self.places = [one + more for one, more in zip(self.places, other.places, strict=True)]
        self.seconds += other.seconds


_counted: dict[str, Counted] = {}
_lock = Lock()
_written_at = -PERIOD


def timed(verb: str) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]:
    """Counts how long each call takes, whatever comes of it."""

    def timing(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        @wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
            began_at = clock.monotonic()
            try:
                return function(*args, **kwargs)
            finally:
                note(verb, clock.monotonic() - began_at)

        return call

    return timing


def note(verb: str, seconds: float) -> None:
    with _lock:
        _counted.setdefault(verb, Counted()).add(seconds)


def write_paces_now_and_then() -> None:
    """`write_paces`, unless this process did so within the last `PERIOD`."""
    if clock.monotonic() >= _written_at + PERIOD:
        write_paces()


def write_paces() -> None:
    """Add what this process has counted to the ledger, in one transaction. After a DatabaseError it still has it."""
    global _counted, _written_at
    with _lock:
        news, _counted = _counted, {}
        _written_at = clock.monotonic()
    try:
        _add(news)
    except BaseException:
        with _lock:
            for verb, counted in news.items():
                _counted.setdefault(verb, Counted()).add_all(counted)
        raise


def _add(news: dict[str, Counted]) -> None:
    if not news:
        return
    in_order = sorted(news)
    with transaction.atomic():
        Pace.objects.bulk_create([Pace(verb=verb) for verb in in_order], ignore_conflicts=True)
        for verb in in_order:
            *up_to, calls = accumulate(news[verb].places)
            more = {"calls": calls, "seconds": news[verb].seconds}
            more |= dict(zip(TOOK, up_to, strict=True))
            Pace.objects.filter(pk=verb).update(
                **{name: F(name) + value for name, value in more.items()}
            )


def read() -> dict[str, Spread]:
    """Of every verb that was called so far, by all processes."""
    return {
        pace.verb: Spread(
            {bound: getattr(pace, name) for name, bound in zip(TOOK, BOUNDS, strict=True)},
            pace.calls,
            pace.seconds,
        )
        for pace in Pace.objects.order_by("verb")
    }


def _begin_anew() -> None:
    """In a new process: what its parent counted is the parent's to write."""
    global _counted, _lock, _written_at
    _counted, _lock, _written_at = {}, Lock(), -PERIOD


os.register_at_fork(after_in_child=_begin_anew)
