"""How tasks are put into a peer's store: one call for each, or many in one call. For subclasses to fill in."""

import asyncio
import time
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from types import TracebackType
from typing import Any, Self

WARM_UP = -1
"""The number of tasks that only open connections and compile statements; no report looks at them."""

GOLDEN_RATIO = 0.618034


class Sender(AbstractContextManager["Sender"]):
    """Puts numbered tasks, each with the instant at which it is sent, into a store that speaks without asyncio."""

    def prepare(self) -> None:
        """Make the tables, if the peer has any."""

    @abstractmethod
    def enqueue(self, number: int) -> None:
        """Put one task."""

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        """In one call, for peers that have one. The others put one after the other."""
        self.one_by_one(numbers)

    def one_by_one(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.enqueue(number)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close what was opened."""


class AsyncSender(Sender):
    """For peers that speak asyncio. Their own loop runs through a batch, not once for each task."""

    @abstractmethod
    async def open(self) -> None:
        """Connect."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect."""

    async def aprepare(self) -> None:
        """Make the tables."""

    @abstractmethod
    async def aenqueue(self, number: int) -> None:
        """Put one task."""

    @abstractmethod
    async def aenqueue_many(self, numbers: Sequence[int]) -> None:
        """Put tasks in one call."""

    def prepare(self) -> None:
        self._runner.run(self.aprepare())

    def enqueue(self, number: int) -> None:
        self._runner.run(self.aenqueue(number))

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        self._runner.run(self.aenqueue_many(numbers))

    def one_by_one(self, numbers: Sequence[int]) -> None:
        self._runner.run(self._one_by_one(numbers))

    async def _one_by_one(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            await self.aenqueue(number)

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner()
        self._runner.run(self.open())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._runner.run(self.close())
        self._runner.close()


def sender(peer: str, options: dict[str, Any]) -> Sender:
    made: Sender = import_module(peer).Sender(**options)
    return made


# The acts


def prepare(peer: str, **options: Any) -> None:
    """An empty store, with its tables."""
    with sender(peer, options) as store:
        store.prepare()


def fill(peer: str, count: int, batch: int, **options: Any) -> None:
    """A backlog, in the fastest way there is."""
    with sender(peer, options) as store:
        for first in range(0, count, batch):
            store.enqueue_many(range(first, min(first + batch, count)))


def warm_up(peer: str, **options: Any) -> None:
    """One task, to see whether the workers are there."""
    with sender(peer, options) as store:
        store.enqueue(WARM_UP)


def one_by_one(peer: str, count: int, **options: Any) -> float:
    """Tasks per second, one call for each."""
    with sender(peer, options) as store:
        store.one_by_one([WARM_UP])
        begun = time.perf_counter()
        store.one_by_one(range(count))
        return count / (time.perf_counter() - begun)


def in_bulk(peer: str, count: int, batch: int, **options: Any) -> float:
    """Tasks per second, so many in one call."""
    with sender(peer, options) as store:
        store.enqueue_many([WARM_UP])
        begun = time.perf_counter()
        for first in range(0, count, batch):
            store.enqueue_many(range(first, first + batch))
        return count / (time.perf_counter() - begun)


def trickle(peer: str, count: int, every_seconds: float, **options: Any) -> None:
    """One task now and then, whatever the ones before took. Their numbers start at 1.

    The beat is uneven, always in the same way, so that it keeps no step with a peer that polls.
    """
    with sender(peer, options) as store:
        store.enqueue(WARM_UP)
        begun = time.monotonic()
        for number in range(1, count + 1):
            beat = number + number * GOLDEN_RATIO % 1 / 2
            time.sleep(max(begun + beat * every_seconds - time.monotonic(), 0))
            store.enqueue(number)
