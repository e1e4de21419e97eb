"""The ledger as a dictionary of tasks: what every verb must come to, with no database and nothing clever."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from scheduling.ledger.values import Claim, Fail, NewTask, Release, Snooze, Stop, Succeed, Verdict
from scheduling.states import DeadReason, Outcome, TaskState

Scope = tuple[str, str, str]
"""(tenant, queue, name) of a pause, "" for all of them."""


@dataclass(eq=False)
class ModelTask:
    id: UUID
    tenant: str
    queue: str
    name: str
    priority: int
    max_attempts: int
    due_at: datetime
    deadline: datetime | None
    is_ready: bool
    state: TaskState = TaskState.QUEUED
    generation: int = 0
    attempts: int = 0
    dead_reason: DeadReason | None = None
    cancel_requested: bool = False
    worker: UUID | None = None
    expires_at: datetime | None = None
    ends: dict[int, tuple[UUID, Outcome]] = field(default_factory=dict)
    """Of each generation: who ran it, and how it ended."""

    def holds(self, claim: Claim) -> bool:
        return (self.generation, self.worker) == (claim.generation, claim.worker)

    def start(self, claim: Claim) -> None:
        self.state, self.worker, self.expires_at = TaskState.RUNNING, claim.worker, claim.expires_at
        self.generation += 1

    def end(self, outcome: Outcome) -> None:
        assert self.worker is not None
        self.ends[self.generation] = (self.worker, outcome)
        self.worker = self.expires_at = None
        self.attempts += outcome.is_charged

    def wait(self, due_at: datetime, now: datetime) -> None:
        self.state, self.due_at, self.is_ready = TaskState.QUEUED, due_at, due_at <= now

    def bury(self, reason: DeadReason) -> None:
        self.state, self.dead_reason = TaskState.DEAD, reason


@dataclass
class Model:
    now: datetime
    caps: dict[str, int | None]
    max_queued: dict[str, int | None]
    tasks: dict[UUID, ModelTask] = field(default_factory=dict)
    pauses: dict[Scope, datetime | None] = field(default_factory=dict)

    # Reading

    def where(self, holds: Callable[[ModelTask], bool]) -> Iterator[ModelTask]:
        return (task for task in self.tasks.values() if holds(task))

    def in_state(self, *states: TaskState) -> Iterator[ModelTask]:
        return self.where(lambda task: task.state in states)

    def has_room_for(self, counts: Mapping[str, int]) -> bool:
        """Whether so many more unfinished tasks of each tenant stay within its max_queued."""
        unfinished = [task.tenant for task in self.in_state(TaskState.QUEUED, TaskState.RUNNING)]
        return all(
            (most := self.max_queued[tenant]) is None or unfinished.count(tenant) + count <= most
            for tenant, count in counts.items()
        )

    def room(self, tenant: str) -> float:
        """How many more tasks of a tenant may start."""
        running = sum(task.tenant == tenant for task in self.in_state(TaskState.RUNNING))
        most = self.caps[tenant]
        return float("inf") if most is None else most - running

    def is_paused(self, task: ModelTask) -> bool:
        return any(covers(scope, task) for scope, end in self.pauses.items() if self.stands(end))

    def stands(self, end: datetime | None) -> bool:
        return end is None or end > self.now

    def may_start(self, queues: Collection[str]) -> list[ModelTask]:
        """In the order inside a lane, caps left aside."""
        eligible = self.where(
            lambda task: (
                task.state is TaskState.QUEUED
                and task.is_ready
                and task.queue in queues
                and not self.is_paused(task)
                and (task.deadline is None or task.deadline > self.now)
            )
        )
        return sorted(eligible, key=lambda task: (-task.priority, task.due_at, task.id))

    def late(self) -> Iterator[ModelTask]:
        """What a claim may bury."""
        return self.where(
            lambda task: (
                task.state is TaskState.QUEUED
                and task.is_ready
                and not self.is_paused(task)
                and task.deadline is not None
                and task.deadline <= self.now
            )
        )

    # Changing

    def add(self, task_id: UUID, tenant: str, task: NewTask) -> None:
        due_at = task.due_at or self.now
        self.tasks[task_id] = ModelTask(
            task_id,
            tenant,
            task.queue,
            task.name,
            task.priority,
            task.max_attempts,
            due_at,
            task.deadline,
            is_ready=due_at <= self.now,
        )

    def promote(self) -> None:
        for task in self.in_state(TaskState.QUEUED):
            task.is_ready |= task.due_at <= self.now

    def settle(self, task: ModelTask, verdict: Verdict) -> None:
        """By the worker that holds the task."""
        task.end(verdict.outcome)
        match verdict:
            case Succeed():
                task.state = TaskState.SUCCEEDED
            case Stop():
                task.state = TaskState.CANCELLED
            case Fail(_, None):
                self._give_up(task, DeadReason.PERMANENT_FAILURE)
            case Fail(_, timedelta() as delay, unknown_handler):
                reason = DeadReason.UNKNOWN_HANDLER if unknown_handler else None
                self.try_again(task, self.now + delay, reason or DeadReason.ATTEMPTS_EXHAUSTED)
            case Snooze(delay):
                self.try_again(task, self.now + delay)
            case Release():
                self.try_again(task, self.now)

    def lose(self, task: ModelTask, due_at: datetime | None) -> None:
        """By its reaper, which drew the backoff. None: the task is over."""
        task.end(Outcome.LOST)
        self.try_again(task, due_at or self.now, DeadReason.WORKER_LOST)

    def try_again(
        self, task: ModelTask, due_at: datetime, at_the_limit: DeadReason | None = None
    ) -> None:
        if at_the_limit and task.attempts >= task.max_attempts:
            self._give_up(task, at_the_limit)
        elif task.deadline is not None and due_at >= task.deadline:
            self._give_up(task, DeadReason.DEADLINE_PASSED)
        elif task.cancel_requested:
            task.state = TaskState.CANCELLED
        else:
            task.wait(due_at, self.now)

    def _give_up(self, task: ModelTask, reason: DeadReason) -> None:
        if task.cancel_requested:
            task.state = TaskState.CANCELLED
        else:
            task.bury(reason)

    def cancel(self, task: ModelTask) -> bool:
        """Answers whether it was asked for in time."""
        in_time = not task.state.is_terminal
        task.cancel_requested |= in_time
        if task.state is TaskState.QUEUED:
            task.state = TaskState.CANCELLED
        return in_time

    def redrive(self, tasks: Iterable[ModelTask]) -> None:
        for task in tasks:
            task.attempts, task.dead_reason, task.cancel_requested = 0, None, False
            if task.deadline is not None and task.deadline <= self.now:
                task.deadline = None
            task.wait(self.now, self.now)


def covers(scope: Scope, task: ModelTask) -> bool:
    parts = zip(scope, (task.tenant, task.queue, task.name), strict=True)
    return all(wanted in ("", actual) for wanted, actual in parts)
