"""A task of the ledger, told in the words of Django's task interface."""

import json
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, assert_never, cast

from django.utils.functional import SimpleLazyObject

from scheduling import compat
from scheduling.compat import (
    TaskError,
    TaskResult,
    TaskResultStatus,
    log_task_enqueued,
    task_enqueued,
)
from scheduling.declaring import registry
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.errors import RentrollError
from scheduling.ledger.values import Accepted, NewTask
from scheduling.models import Attempt, Lease, Task
from scheduling.states import Outcome, TaskState


def result_of(row: Task, backend: str) -> TaskResult:
    """What became of the task so far. Reads its attempts; the row should come with its lease.

    Raises UnknownHandler when this process has no task of that name.
    """
    attempts = [a for a in row.history.all() if Outcome(a.outcome).is_charged]
    lease: Lease | None = getattr(row, "lease", None)
    starts = [a.started_at for a in attempts] + ([lease.acquired_at] if lease else [])
    workers = [a.worker for a in attempts] + ([lease.worker] if lease else [])
    result = TaskResult(
        task=registry.get(row.name).using(
            queue_name=row.queue, priority=row.priority, backend=backend
        ),
        id=str(row.id),
        status=status_of(TaskState(row.state)),
        enqueued_at=row.created_at,
        started_at=starts[0] if starts else None,
        last_attempted_at=starts[-1] if starts else None,
        finished_at=row.finished_at,
        args=row.args,
        kwargs=row.kwargs,
        backend=backend,
        errors=_errors(attempts),
        worker_ids=[str(worker) for worker in workers],
    )
    object.__setattr__(result, "_return_value", row.result)  # no parameter of its own, and frozen
    return result


def enqueued(accepted: Accepted, task: LedgerTask, new: NewTask, backend: str) -> TaskResult:
    """Of a new task all is known. It is put together when somebody looks at it, and few do."""
    return cast("TaskResult", SimpleLazyObject(partial(_waiting, accepted, task, new, backend)))


def _waiting(accepted: Accepted, task: LedgerTask, new: NewTask, backend: str) -> TaskResult:
    return TaskResult(
        task=task,
        id=str(accepted.task_id),
        status=TaskResultStatus.READY,
        enqueued_at=accepted.created_at,
        started_at=None,
        last_attempted_at=None,
        finished_at=None,
        args=json.loads(new.args_json),
        kwargs=json.loads(new.kwargs_json),
        backend=backend,
        errors=[],
        worker_ids=[],
    )


def without_the_framework() -> None:
    """Spare each enqueue the framework's own line about it, unless somebody wants to read it.

    The framework listens to its own signal, so that a result would be put together for every task.
    """
    if not framework_logger().isEnabledFor(logging.DEBUG):
        task_enqueued.disconnect(log_task_enqueued)


def framework_logger() -> logging.Logger:
    return logging.getLogger(compat.Task.__module__.removesuffix(".base"))


def status_of(state: TaskState) -> TaskResultStatus:
    """A task waiting to be retried is ready; dead and cancelled ones have failed."""
    match state:
        case TaskState.QUEUED:
            return TaskResultStatus.READY
        case TaskState.RUNNING:
            return TaskResultStatus.RUNNING
        case TaskState.SUCCEEDED:
            return TaskResultStatus.SUCCESSFUL
        case TaskState.DEAD | TaskState.CANCELLED:
            return TaskResultStatus.FAILED
        case _:
            assert_never(state)


def _errors(attempts: Sequence[Attempt]) -> list[TaskError]:
    errors: list[dict[str, Any]] = [a.error for a in attempts if a.error]
    return [
        TaskError(exception_class_path=_class_path(error["class"]), traceback=error["traceback"])
        for error in errors
    ]


def _class_path(name: str) -> str:
    """What the ledger itself says of an attempt, such as WorkerLost, was never raised and has no class."""
    return name if "." in name else f"{RentrollError.__module__}.{RentrollError.__qualname__}"
