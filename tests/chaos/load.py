"""The load: callers that enqueue, ask again, cancel and redrive, each in the order that its seed says.

What they ask for and in which order is the same in every run of a seed; what they are answered is not, and so
whom a cancellation strikes is drawn from what was accepted.
"""

import random
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from scheduling.clock import monotonic
from tests.chaos.actor import Actor, Closing
from tests.chaos.records import Answer

GAP = 0.06
"""Seconds between two requests of one caller, on average."""
NAMES = ("chaos.work", "chaos.stroll", "chaos.bill")
QUEUES = ("default", "mail")
LENGTHS = {(0.0, 0.02): 62, (0.05, 0.3): 20, (0.4, 1.2): 14, (2.5, 4.5): 4}
"""Ranges of seconds that tasks take, and how often."""
LIKELY = 3
"""Of what was accepted lately, a cancellation strikes one of so many: it is not over yet."""


@dataclass(frozen=True, slots=True)
class TenantOfLoad:
    slug: str
    weight: int
    cap: int | None
    max_queued: int
    rate: float | None = None

    @property
    def secret(self) -> str:
        return f"token-{self.slug}"


TENANTS = (
    TenantOfLoad("one-by-one", weight=1, cap=1, max_queued=12),
    TenantOfLoad("pair", weight=5, cap=2, max_queued=25),
    TenantOfLoad("crowd", weight=2, cap=6, max_queued=60),
    TenantOfLoad("steady", weight=1, cap=None, max_queued=200, rate=6),
)
ZOMBIES_TENANT = TenantOfLoad("undead", weight=1, cap=None, max_queued=50)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A task to enqueue."""

    tenant: TenantOfLoad
    name: str
    payload: dict[str, Any]
    queue: str
    priority: int
    delay: timedelta
    max_attempts: int
    key: str = ""

    @property
    def is_doomed(self) -> bool:
        return bool(self.payload["fails"] >= self.max_attempts)


class Desk(Closing):
    """Where a caller asks: the API, or the task framework. Tells how it went, and raises nothing for that."""

    @abstractmethod
    def enqueue(self, what: str, wanted: Wanted) -> Answer: ...
    @abstractmethod
    def cancel(self, wanted: Wanted, task: str) -> Answer: ...
    @abstractmethod
    def redrive(self, wanted: Wanted, task: str) -> Answer: ...
    @abstractmethod
    def discard(self, wanted: Wanted, task: str) -> Answer: ...


class Caller(Actor[Desk]):
    """One request after another."""

    def __init__(self, name: str, seed: str, desk: Callable[[], Desk]) -> None:
        super().__init__(name, seed, desk)
        self._accepted: list[tuple[Wanted, str]] = []
        self._keyed: list[Wanted] = []
        self._keys = 0

    def _pause(self) -> float:
        return self._rng.uniform(0, 2 * GAP)

    def _act(self, desk: Desk) -> None:
        self.answers.append(self._call(desk))

    def _call(self, desk: Desk) -> Answer:
        """Every branch draws as often as the others, so that answers change nothing about what comes next."""
        rng = self._rng
        act, whom = rng.random(), rng.random()
        wanted = self._wanted(rng)
        if act < 0.08 and self._accepted:
            recent = self._accepted[-LIKELY:]
            return desk.cancel(*recent[int(whom * len(recent))])
        doomed = [pair for pair in self._accepted if pair[0].is_doomed]
        if act < 0.13 and doomed:
            return desk.redrive(*doomed[int(whom * len(doomed))])
        if act < 0.14 and doomed:
            return desk.discard(*doomed[int(whom * len(doomed))])
        if act < 0.22 and self._keyed:
            return self._enqueue(desk, "again", self._keyed[int(whom * len(self._keyed))])
        return self._enqueue(desk, "enqueue", wanted)

    def _enqueue(self, desk: Desk, what: str, wanted: Wanted) -> Answer:
        if wanted.key and what == "enqueue":
            self._keyed.append(wanted)
        answer = desk.enqueue(what, wanted)
        if answer.task:
            self._accepted.append((wanted, answer.task))
        return answer

    def _wanted(self, rng: random.Random) -> Wanted:
        least, most = rng.choices(list(LENGTHS), list(LENGTHS.values()))[0]
        payload = {
            "seconds": round(rng.uniform(least, most), 3),
            "fails": rng.choices([0, 1, 2, 9], [80, 11, 4, 5])[0],
            "snoozes": rng.choices([0, 1, 2], [92, 5, 3])[0],
        }
        if payload["fails"]:  # again and again; the end of the run has to wait for it
            payload["seconds"] = min(payload["seconds"], 0.2)
        later, keyed = rng.random() < 0.15, rng.random() < 0.3
        self._keys += 1
        return Wanted(
            tenant=rng.choice(TENANTS),
            name=rng.choice(NAMES),
            payload=payload,
            queue=rng.choice(QUEUES),
            priority=rng.choice([0, 0, 0, 10, -10]),
            delay=timedelta(seconds=round(rng.uniform(0.1, 4), 3)) if later else timedelta(),
            max_attempts=rng.randint(2, 8),
            key=f"{self.name}-{self._keys}" if keyed else "",
        )


def timed(what: str, ask: Callable[[], tuple[int, str, str]], key: str = "") -> Answer:
    """The answer, as (status, task, what was said), with the time at which it was asked for."""
    sent_at = monotonic()
    status, task, said = ask()
    return Answer(what=what, status=status, sent_at=sent_at, task=task, key=key, said=said)
