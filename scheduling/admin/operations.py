"""What an operator does to tasks: verbs of the ledger, and their record, in one transaction each."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from scheduling import audit, clock, ledger
from scheduling.audit import Actor
from scheduling.counts import counted
from scheduling.lists.letters import over
from scheduling.models import Task
from scheduling.states import TaskState


class Operation(StrEnum):
    CANCEL = "cancel"
    RUN_NOW = "run-now"
    REDRIVE = "redrive"
    DISCARD = "discard"

    @property
    def verb(self) -> str:
        """As the record has it."""
        return self.value.replace("-", " ")

    @property
    def label(self) -> str:
        return self.verb.capitalize()

    @property
    def permission(self) -> str:
        verb = "reschedule" if self is Operation.RUN_NOW else self.value
        return f"scheduling.{verb}_task"

    @property
    def is_dangerous(self) -> bool:
        """Whether something is lost by it."""
        return self in (Operation.CANCEL, Operation.DISCARD)

    @property
    def warning(self) -> str:
        """What an operator should know before confirming."""
        match self:
            case Operation.CANCEL:
                return "Queued tasks are cancelled for good. Running ones are asked to stop."
            case Operation.RUN_NOW:
                return "Tasks that wait for their time are due at once. Pauses, caps and the order of their lane still count."
            case Operation.REDRIVE:
                return "Dead letters are queued again, due at once, with a fresh allowance of attempts."
            case Operation.DISCARD:
                return "Dead letters are deleted with their history. This cannot be undone."
            case _:
                assert_never(self)


def allowed(user: User | AnonymousUser, operations: Iterable[Operation]) -> list[Operation]:
    """Those that this user may do."""
    return [each for each in operations if user.has_perm(each.permission)]


@dataclass(frozen=True, slots=True)
class Done:
    """Which tasks it was done to, and in sentences what became of all that were picked."""

    tasks: set[UUID]
    said: str


def perform(operation: Operation, tasks: Sequence[Task], by: Actor, reason: str = "") -> str:
    """Do it to those tasks, as far as it applies to each; says in a sentence what became of them."""
    with transaction.atomic():
        match operation:
            case Operation.CANCEL:
                done = _cancel(tasks)
            case Operation.RUN_NOW:
                done = rescheduled(tasks, clock.now())
            case Operation.REDRIVE:
                done = _redrive(tasks)
            case Operation.DISCARD:
                done = _discard(tasks)
            case _:
                assert_never(operation)
        put_on_record(operation.verb, tasks, done, by, reason)
    return done.said


def put_on_record(
    verb: str, picked: Sequence[Task], done: Done, by: Actor, reason: str = ""
) -> None:
    """One entry for all that was picked, and the pages of those it was done to show it."""
    if not picked:
        return
    tenants = {task.tenant for task in picked}
    audit.record(
        by,
        verb,
        str(picked[0]) if len(picked) == 1 else f"{counted(len(picked), 'task')}, picked by hand",
        tenant=tenants.pop() if len(tenants) == 1 else None,
        tasks=[task.pk for task in picked if task.pk in done.tasks],
        reason=reason,
        done=len(done.tasks),
        refused=len(picked) - len(done.tasks),
        note=done.said,
    )


def _cancel(tasks: Sequence[Task]) -> Done:
    answers = ledger.cancel([task.pk for task in tasks])
    asked = sum(answer.state is TaskState.RUNNING for answer in answers if answer.requested)
    done = {answer.task_id for answer in answers if answer.requested}
    said = [f"{counted(len(done) - asked, 'task')} cancelled."]
    if asked:
        said.append(f"{counted(asked, 'running task')} asked to stop.")
    if left := len(tasks) - len(done):
        said.append(f"{counted(left, 'task')} left: already finished.")
    return Done(done, " ".join(said))


def rescheduled(
    tasks: Sequence[Task], due_at: datetime | None, priority: int | None = None
) -> Done:
    done = ledger.reschedule([task.pk for task in tasks], due_at=due_at, priority=priority)
    said = [f"{counted(len(done), 'task')} rescheduled."]
    if left := len(tasks) - len(done):
        said.append(f"{counted(left, 'task')} left: not waiting, or with a deadline before that.")
    return Done(done, " ".join(said))


def _redrive(tasks: Sequence[Task]) -> Done:
    dead = [task for task in tasks if task.dead_reason]
    full: dict[int, ledger.Full] = {}
    done = {task.pk for task in ledger.redrive_what_fits(dead, full)}
    said = [f"{counted(len(done), 'dead letter')} redriven."]
    left_of = Counter(
        task.tenant for task in dead if task.pk not in done and task.tenant_id in full
    )
    said += [f"{left:,} left: {over(tenant, full[tenant.pk])}." for tenant, left in left_of.items()]
    if left := len(tasks) - len(done) - left_of.total():
        said.append(f"{counted(left, 'task')} left: not dead.")
    return Done(done, " ".join(said))


def _discard(tasks: Sequence[Task]) -> Done:
    done = set(ledger.discarded([task.pk for task in tasks]))
    said = [f"{counted(len(done), 'dead letter')} discarded."]
    if left := len(tasks) - len(done):
        said.append(f"{counted(left, 'task')} left: not dead.")
    return Done(done, " ".join(said))
