"""One task of the model: what is known of it, and how one attempt of it begins and ends. No database."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from scheduling.ledger.values import Claim
from scheduling.states import DeadReason, Outcome, TaskState


class End(NamedTuple):
    """Of one generation."""

    worker: UUID
    outcome: Outcome
    number: int
    due_at: datetime
    started_at: datetime
    finished_at: datetime


@dataclass(eq=False)
class ModelTask:
    id: UUID
    tenant: str
    queue: str
    name: str
    priority: int
    max_attempts: int
    created_at: datetime
    due_at: datetime
    deadline: datetime | None
    key: str | None
    fingerprint: str | None
    is_ready: bool
    state: TaskState = TaskState.QUEUED
    generation: int = 0
    attempts: int = 0
    dead_reason: DeadReason | None = None
    cancel_requested: bool = False
    redriven_from: int | None = None
    finished_at: datetime | None = None
    worker: UUID | None = None
    acquired_at: datetime | None = None
    expires_at: datetime | None = None
    ends: dict[int, End] = field(default_factory=dict)
    """By generation."""

    def holds(self, claim: Claim) -> bool:
        return (self.generation, self.worker) == (claim.generation, claim.worker)

    def start(self, claim: Claim, now: datetime) -> None:
        self.state, self.worker, self.expires_at = TaskState.RUNNING, claim.worker, claim.expires_at
        self.acquired_at = now
        self.generation += 1

    def end(self, outcome: Outcome, now: datetime) -> None:
        """The attempt. What becomes of the task is said next."""
        assert self.worker is not None
        assert self.acquired_at is not None
        self.ends[self.generation] = End(
            self.worker, outcome, self.attempts + 1, self.due_at, self.acquired_at, now
        )
        self.worker = self.acquired_at = self.expires_at = None
        self.attempts += outcome.is_charged

    def wait(self, due_at: datetime, now: datetime) -> None:
        self.state, self.due_at, self.is_ready = TaskState.QUEUED, due_at, due_at <= now

    def finish(self, state: TaskState, now: datetime) -> None:
        self.state, self.finished_at = state, now

    def revive(self, now: datetime) -> None:
        self.attempts, self.dead_reason, self.cancel_requested = 0, None, False
        self.redriven_from, self.finished_at = self.generation, None
        if self.deadline is not None and self.deadline <= now:
            self.deadline = None
        self.wait(now, now)
