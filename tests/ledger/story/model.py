"""The ledger as a dictionary of tasks: what every verb must come to, with no database and nothing clever."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from scheduling.ledger.values import Fail, NewTask, Release, Snooze, Stop, Succeed, Verdict
from scheduling.states import UNFINISHED, DeadReason, Outcome, TaskState
from tests.ledger.story.limits import Limits
from tests.ledger.story.pauses import ModelPause, Scope, covers, parts
from tests.ledger.story.task import ModelTask


@dataclass
class Model:
    now: datetime
    limits: dict[str, Limits]
    tasks: dict[UUID, ModelTask] = field(default_factory=dict)
    pauses: dict[tuple[Scope, bool], ModelPause] = field(default_factory=dict)
    """By scope, and whether the tenant paused itself."""
    throughput: Counter[tuple[str, datetime, str]] = field(default_factory=Counter)
    """By tenant, minute, and what became of tasks."""

    # Reading

    def where(self, holds: Callable[[ModelTask], bool]) -> Iterator[ModelTask]:
        return (task for task in self.tasks.values() if holds(task))

    def in_state(self, *states: TaskState) -> Iterator[ModelTask]:
        return self.where(lambda task: task.state in states)

    def refusal(self, counts: Mapping[str, int], *, rated: bool = True) -> str | None:
        """Which limit keeps so many more tasks of each tenant out: of the first tenant that has one."""
        unfinished = Counter(task.tenant for task in self.in_state(*UNFINISHED))
        refusals = (
            self.limits[tenant].refusal(count, unfinished[tenant], self.now, rated=rated)
            for tenant, count in sorted(counts.items())
        )
        return next(filter(None, refusals), None)

    def standing(self, tenant: str, key: str | None) -> ModelTask | None:
        """The task that an idempotency key of a tenant stands for."""
        under_it = self.where(lambda task: (task.tenant, task.key) == (tenant, key))
        return next(under_it, None) if key else None

    def room(self, tenant: str) -> float:
        """How many more tasks of a tenant may start."""
        running = sum(task.tenant == tenant for task in self.in_state(TaskState.RUNNING))
        most = self.limits[tenant].max_in_flight
        return float("inf") if most is None else most - running

    def is_paused(self, task: ModelTask) -> bool:
        return any(covers(scope, task) for scope in self.standing_scopes())

    def standing_scopes(self) -> set[Scope]:
        return {scope for scope, _ in self.standing_keys()}

    def standing_keys(self) -> set[tuple[Scope, bool]]:
        return {
            key for key, pause in self.pauses.items() if pause.end is None or pause.end > self.now
        }

    def widest_over(self, scope: Scope) -> set[Scope]:
        """Those that cover all of a scope, with the fewest parts; of equals any."""
        covering = {
            wide
            for wide in self.standing_scopes()
            if all(part in ("", wanted) for part, wanted in zip(wide, scope, strict=True))
        }
        fewest = min((parts(wide) for wide in covering), default=0)
        return {wide for wide in covering if parts(wide) == fewest}

    def running_in(self, scope: Scope) -> int:
        return sum(covers(scope, task) for task in self.in_state(TaskState.RUNNING))

    def meet_pauses(self) -> None:
        """A claim comes by."""
        for key in self.standing_keys():
            self.pauses[key].was_met = True

    def may_hold_what_is_free(self) -> bool:
        """Whether pauses that are over hold something until the next promotion."""
        return bool(self._lingering())

    def may_be_held(self, task: ModelTask) -> bool:
        """By one of those."""
        return any(covers(scope, task) for scope in self._lingering())

    def _lingering(self) -> set[Scope]:
        over = self.pauses.keys() - self.standing_keys()
        return {key[0] for key in over if self.pauses[key].was_met}

    def may_start(self, queues: Collection[str]) -> list[ModelTask]:
        """In the order inside a lane, caps left aside."""
        eligible = self.where(
            lambda task: (
                self._waits_its_turn(task)
                and task.queue in queues
                and (task.deadline is None or task.deadline > self.now)
            )
        )
        return sorted(eligible, key=lambda task: (-task.priority, task.due_at, task.id))

    def late(self) -> Iterator[ModelTask]:
        """What a claim may bury."""
        return self.where(
            lambda task: (
                self._waits_its_turn(task)
                and task.deadline is not None
                and task.deadline <= self.now
            )
        )

    def _waits_its_turn(self, task: ModelTask) -> bool:
        return task.state is TaskState.QUEUED and task.is_ready and not self.is_paused(task)

    # Changing

    def add(self, task_id: UUID, tenant: str, task: NewTask) -> None:
        due_at = task.due_at or self.now
        self.tasks[task_id] = ModelTask(
            id=task_id,
            tenant=tenant,
            queue=task.queue,
            name=task.name,
            priority=task.priority,
            max_attempts=task.max_attempts,
            created_at=self.now,
            due_at=due_at,
            deadline=task.deadline,
            key=task.idempotency_key,
            fingerprint=task.fingerprint,
            is_ready=due_at <= self.now,
        )

    def charge(self, counts: Mapping[str, int]) -> None:
        for tenant, count in counts.items():
            self.limits[tenant].charge(count, self.now)

    def promote(self) -> datetime | None:
        """Answers what is due next."""
        for task in self.in_state(TaskState.QUEUED):
            task.is_ready |= task.due_at <= self.now
        self.clear_pauses()
        waiting = (task.due_at for task in self.in_state(TaskState.QUEUED) if not task.is_ready)
        return min(waiting, default=None)

    def clear_pauses(self) -> None:
        """What those held that are over is ready again."""
        standing = self.standing_keys()
        self.pauses = {key: pause for key, pause in self.pauses.items() if key in standing}

    def settle(self, task: ModelTask, verdict: Verdict) -> None:
        """By the worker that holds the task."""
        task.end(verdict.outcome, self.now)
        match verdict:
            case Succeed():
                self._finish(task, TaskState.SUCCEEDED)
            case Stop():
                self._finish(task, TaskState.CANCELLED)
            case Fail(_, None):
                self._give_up(task, DeadReason.PERMANENT_FAILURE)
            case Fail(_, timedelta() as delay, unknown_handler):
                reason = DeadReason.UNKNOWN_HANDLER if unknown_handler else None
                self._try_again(
                    task, self.now + delay, verdict.outcome, reason or DeadReason.ATTEMPTS_EXHAUSTED
                )
            case Snooze(delay):
                self._try_again(task, self.now + delay, verdict.outcome)
            case Release():
                self._try_again(task, self.now, verdict.outcome)

    def lose(self, task: ModelTask, due_at: datetime | None) -> None:
        """By its reaper, which drew the backoff. None: the task is over."""
        task.end(Outcome.LOST, self.now)
        self._count(task, "lost")
        self._try_again(task, due_at or self.now, Outcome.LOST, DeadReason.WORKER_LOST)

    def _try_again(
        self,
        task: ModelTask,
        due_at: datetime,
        outcome: Outcome,
        at_the_limit: DeadReason | None = None,
    ) -> None:
        if at_the_limit and task.attempts >= task.max_attempts:
            self._give_up(task, at_the_limit)
        elif task.cancel_requested:
            self._finish(task, TaskState.CANCELLED)
        elif task.deadline is not None and due_at >= task.deadline:
            self.bury(task, DeadReason.DEADLINE_PASSED)
        else:
            task.wait(due_at, self.now)
            if outcome.is_charged:
                self._count(task, "retried")

    def _give_up(self, task: ModelTask, reason: DeadReason) -> None:
        if task.cancel_requested:
            self._finish(task, TaskState.CANCELLED)
        else:
            self.bury(task, reason)

    def bury(self, task: ModelTask, reason: DeadReason) -> None:
        task.dead_reason = reason
        self._finish(task, TaskState.DEAD)

    def _finish(self, task: ModelTask, state: TaskState) -> None:
        task.finish(state, self.now)
        self._count(task, state.value)

    def _count(self, task: ModelTask, what: str) -> None:
        self.throughput[task.tenant, self.now.replace(second=0, microsecond=0), what] += 1

    def cancel(self, task: ModelTask) -> bool:
        """Answers whether it was asked for in time."""
        in_time = not task.state.is_terminal
        task.cancel_requested |= in_time
        if task.state is TaskState.QUEUED:
            self._finish(task, TaskState.CANCELLED)
        return in_time

    def reschedule(self, task: ModelTask, due_at: datetime | None, priority: int | None) -> bool:
        """Answers whether it waited, and may wait until then."""
        if due_at is not None:
            due_at = max(due_at, self.now)
            if task.deadline is not None and task.deadline <= due_at:
                return False
        if task.state is not TaskState.QUEUED:
            return False
        if priority is not None:
            task.priority = priority
        if due_at is not None and max(due_at, task.due_at) > self.now:
            task.due_at, task.is_ready = due_at, False
        return True

    def redrive(self, tasks: Iterable[ModelTask]) -> None:
        for task in tasks:
            task.revive(self.now)

    def prune(self, tenant: str, keep: timedelta) -> int:
        """Answers how many went. Dead letters stay."""
        retention = self.limits[tenant].retention_seconds
        before = self.now - (keep if retention is None else timedelta(seconds=retention))
        over = [
            task.id
            for task in self.in_state(TaskState.SUCCEEDED, TaskState.CANCELLED)
            if task.tenant == tenant and task.finished_at is not None and task.finished_at < before
        ]
        for task_id in over:
            del self.tasks[task_id]
        return len(over)
