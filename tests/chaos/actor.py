"""Somebody who asks for one thing after another, in a thread of its own, until told to stop."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

from tests.chaos.records import Answer


class Closing(ABC):
    """What an actor asks at: used by one thread, and closed in the end."""

    @abstractmethod
    def close(self) -> None: ...


D = TypeVar("D", bound=Closing)


class Actor(ABC, Generic[D]):
    """Draws from a generator of its own, so that one actor's luck is nothing to the others."""

    def __init__(self, name: str, seed: str, desk: Callable[[], D]) -> None:
        self.answers: list[Answer] = []
        self.name = name
        self.ended_well = False
        """Once it is over. An exception is printed, and leaves it so."""
        self._rng = random.Random(f"{seed}: {name}")
        self._desk = desk
        self._stop = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask_to_stop(self) -> None:
        self._stop.set()

    def has_left(self, patience: float) -> bool:
        """Wait so many seconds for it."""
        self._thread.join(patience)
        return not self._thread.is_alive()

    def _run(self) -> None:
        desk = self._desk()
        try:
            while not self._stop.wait(self._pause()):
                self._act(desk)
            self.ended_well = True
        finally:
            desk.close()

    @abstractmethod
    def _pause(self) -> float:
        """Seconds until the next act."""

    @abstractmethod
    def _act(self, desk: D) -> None:
        """Ask, and note what was answered."""
