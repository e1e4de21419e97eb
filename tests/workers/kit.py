"""Claims and what surrounds them, without a ledger behind; and as much of a worker process as needs one."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from scheduling import clock, ledger
from scheduling.ledger.values import Claim, Verdict
from scheduling.workers.board import Board
from scheduling.workers.coroutines import Coroutines
from scheduling.workers.executor import Executor
from scheduling.workers.hand import Hand
from scheduling.workers.heart import Heart
from scheduling.workers.held import Held
from scheduling.workers.timeouts import Watch

NOON = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
LEASE = timedelta(seconds=30)


def a_claim(name: str = "demo.echo", *args: Any, **options: Any) -> Claim:
    """Of a task that nobody enqueued."""
    values: dict[str, Any] = {
        "task_id": uuid4(),
        "worker": uuid4(),
        "generation": 1,
        "tenant_id": 1,
        "tenant": "tenant-a",
        "lane_id": 1,
        "name": name,
        "queue": "default",
        "args_json": json.dumps(args),
        "kwargs_json": "{}",
        "attempt": 1,
        "max_attempts": 3,
        "timeout_seconds": None,
        "deadline": None,
        "due_at": NOON,
        "acquired_at": NOON,
        "expires_at": NOON,
    }
    return Claim(**(values | options))


def held(claim: Claim | None = None, *, lease_ends_at: float = float("inf")) -> Held:
    return Held(claim or a_claim(), place=0, claimed_at=0.0, lease_ends_at=lease_ends_at)


class Process:
    """Claims, runs handlers one after the other and in this thread, and settles what they said."""

    def __init__(self, places: int = 8) -> None:
        self.worker = uuid4()
        self.board = Board(places)
        self.hand = Hand(self.board)
        self.heart = Heart(self.hand, LEASE)
        self.watch = Watch(self.hand.held, lambda _: None)
        self.executor = Executor(self.watch, Coroutines())

    def claim(self, count: int = 1) -> list[Held]:
        claims = ledger.claim(self.worker, limit=count, lease=LEASE).claims
        assert len(claims) == count
        return [self.hand.take(one, claimed_at=0.0, lease_ends_at=30.0) for one in claims]

    def execute(self, held: Held) -> Verdict:
        verdict = self.executor.execute(held)
        self.hand.conclude(held, verdict)
        return verdict

    def run(self) -> Verdict:
        """Claim, execute and settle one task."""
        (held,) = self.claim()
        verdict = self.execute(held)
        self.hand.settle()
        return verdict


class Clock:
    """The passage of time, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1000.0
        monkeypatch.setattr(clock, "monotonic", lambda: self.seconds)

    def pass_(self, seconds: float) -> None:
        self.seconds += seconds
