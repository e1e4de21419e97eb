"""The words a task's life is told in. Pure: no database, no Django models."""

from enum import IntEnum, StrEnum


class TaskState(StrEnum):
    """The five states of a task. "Scheduled" and "retrying" are ways of being queued, shown and never stored."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL


TERMINAL = frozenset({TaskState.SUCCEEDED, TaskState.DEAD, TaskState.CANCELLED})
UNFINISHED = frozenset(TaskState) - TERMINAL


class Outcome(StrEnum):
    """How one attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"
    """The worker died or fell silent past its lease."""
    SNOOZED = "snoozed"
    """The handler asked to be run again later; not charged."""
    RELEASED = "released"
    """Handed back unfinished, or never started, by a worker or for one that died; not charged."""
    CANCELLED = "cancelled"

    @property
    def is_charged(self) -> bool:
        """Whether the attempt counts against the task's allowance."""
        return self not in UNCHARGED


UNCHARGED = frozenset({Outcome.SNOOZED, Outcome.RELEASED})


class DeadReason(StrEnum):
    """Why a task is a dead letter."""

    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    PERMANENT_FAILURE = "permanent_failure"
    WORKER_LOST = "worker_lost"
    UNKNOWN_HANDLER = "unknown_handler"
    DEADLINE_PASSED = "deadline_passed"
    UNREADABLE = "unreadable"
    """Somebody changed its row by hand, into something that cannot be run."""


class Readiness(IntEnum):
    """Whether dispatch needs to look at a schedule, or at a lane."""

    NOT_DUE = 0
    """A schedule whose instant has not come; a lane in which nothing is due."""
    READY = 1
    HELD = 2
    """Set aside by a claim that met it paused; put back when the pause is lifted."""
