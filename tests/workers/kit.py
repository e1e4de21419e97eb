"""Claims and what surrounds them, without a ledger behind."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from scheduling import clock
from scheduling.ledger.values import Claim
from scheduling.workers.held import Held

NOON = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)


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


class Clock:
    """The passage of time, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1000.0
        monkeypatch.setattr(clock, "monotonic", lambda: self.seconds)

    def pass_(self, seconds: float) -> None:
        self.seconds += seconds
