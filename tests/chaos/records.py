"""What a run leaves behind: the evidence that rules are held against. Values only.

Instants are seconds of the monotonic clock, which all processes of a machine share and nobody can set; the
walls' clocks are stepped on purpose. Task ids are text, as the API writes them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import NamedTuple

FOREVER = inf


class Token(NamedTuple):
    """One claim: what it was of, and which."""

    task: str
    generation: int

    def __str__(self) -> str:
        return f"{self.task} generation {self.generation}"


class Event(StrEnum):
    """What a handler says of itself. All but the first are its last words."""

    START = "start"
    END = "end"
    FAIL = "fail"
    SNOOZE = "snooze"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Effect:
    """A line that a handler wrote."""

    task: str
    generation: int
    attempt: int
    tenant: str
    event: Event
    at: float
    wall: float
    pid: int

    @property
    def token(self) -> Token:
        return Token(self.task, self.generation)


class What(StrEnum):
    """What the ledger's own log tells of."""

    ENDED = "ended"
    """A lease went."""
    SETTLED = "settled"
    """An attempt was written; `said` is its outcome."""
    STATE = "state"
    """A task's state changed; `said` is both, old and new."""
    CLAIMED = "claimed"
    """A lease came."""
    PAUSED = "paused"
    """`said` is queue, name and reason, one in each line."""
    LIFTED = "lifted"


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of the ledger, at its place in the order of the commits."""

    seq: int
    group: int
    """The same for all changes of one transaction."""
    what: What
    task: str = ""
    generation: int = 0
    tenant_id: int | None = None
    said: str = ""

    @property
    def token(self) -> Token:
        return Token(self.task, self.generation)


@dataclass(frozen=True, slots=True)
class Sample:
    """A look at the end of the log: what was committed by some instant between the two."""

    asked_at: float
    answered_at: float
    last: int


@dataclass(frozen=True, slots=True)
class Answer:
    """One request of the load, by HTTP or in Python. Status 0: nobody answered."""

    what: str
    status: int
    sent_at: float
    task: str = ""
    key: str = ""
    said: str = ""
    """The kind of problem, or what happened instead of an answer."""


@dataclass(frozen=True, slots=True)
class Paused:
    """A time in which nothing of the scope may have started, as the one who paused it knows."""

    token: str
    """Given as the reason, and so found again in the log."""
    received_at: float
    resumed_at: float
    tenant: str = ""
    queue: str = ""
    name: str = ""

    def covers(self, task: "TaskRow", slug: str) -> bool:
        return (
            self.tenant in ("", slug)
            and self.queue in ("", task.queue)
            and self.name in ("", task.name)
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """One that was done."""

    kind: str
    began_at: float
    ended_at: float
    pids: frozenset[int] = frozenset()
    """Of the processes that were struck."""
    killed: bool = False
    """Those processes ended there and then."""
    is_general: bool = False
    """It may keep any process from the ledger: also a process that was stopped with locks in its hands."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which the harness itself could not get a turn to write within a fraction of a lease."""

    began_at: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class TenantRow:
    slug: str
    cap: int | None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task as it stood in the end."""

    tenant_id: int
    name: str
    queue: str
    state: str
    generation: int
    attempts: int
    max_attempts: int


@dataclass(kw_only=True)
class Records:
    """All of it."""

    lease: float
    answers: Sequence[Answer] = ()
    pauses: Sequence[Paused] = ()
    effects: Sequence[Effect] = ()
    log: Sequence[Entry] = ()
    samples: Sequence[Sample] = ()
    stalls: Sequence[Stall] = ()
    faults: Sequence[Fault] = ()
    tenants: Mapping[int, TenantRow] = field(default_factory=dict)
    tasks: Mapping[str, TaskRow] = field(default_factory=dict)
    attempts: Mapping[Token, str] = field(default_factory=dict)
    """Outcomes, as the table of attempts has them."""
    bills: Sequence[Token] = ()
    """Rows that were to be committed together with a success of that claim."""
    refusals: int = 0
    zombies: frozenset[int] = frozenset()
    """Processes that never renew."""
    complaints: Sequence[str] = ()
    """What went wrong on the way, such as a program that did not stop; and what the ledger's own checks say."""
