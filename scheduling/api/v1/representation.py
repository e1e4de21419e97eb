"""Owns how tasks and their attempts are written in answers."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from scheduling.models import Attempt, Task
from scheduling.states import TaskState
from tenants.authentication import Caller


def summary(task: Task, *, caller: Caller, now: datetime) -> dict[str, Any]:
    """A task as lists show it: without payload and result, which may be large."""
    shown = {
        "id": str(task.id),
        "name": task.name,
        "queue": task.queue,
        "state": str(task.state),
        "phase": task.phase(now),
        "priority": task.priority,
        "due_at": instant(due(task)),
        "attempt": task.attempt,
        "max_attempts": task.max_attempts,
        "generation": task.generation,
        "created_at": instant(task.created_at),
        "finished_at": instant(task.finished_at),
        "error": error(task),
        "dead_reason": task.dead_reason,
        "idempotency_key": task.idempotency_key,
        "label": task.label,
    }
    return shown | {"tenant": task.tenant.slug} if caller.is_operator else shown


def detail(task: Task, *, caller: Caller, now: datetime) -> dict[str, Any]:
    """A task with everything it carries."""
    carried = {"payload": payload(task), "result": task.result}
    return summary(task, caller=caller, now=now) | carried


def history(attempts: Iterable[Attempt]) -> list[dict[str, Any]]:
    """What happened, without the tracebacks: they tell of the handler's code, and belong in the console."""
    return [
        {
            "attempt": attempt.number,
            "generation": attempt.generation,
            "outcome": attempt.outcome,
            "due_at": instant(attempt.due_at),
            "started_at": instant(attempt.started_at),
            "finished_at": instant(attempt.finished_at),
            "error": without_traceback(attempt.error),
        }
        for attempt in attempts
    ]


def without_traceback(error: Any) -> Any:
    """Whatever somebody wrote there by hand is told as it stands."""
    if not isinstance(error, dict):
        return error
    return {part: error.get(part) for part in ("class", "message")}


def payload(task: Task) -> dict[str, Any]:
    return payload_of(task.args, task.kwargs)


def payload_of(args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name. Only Python callers can give unnamed ones, listed under `args`."""
    return {"args": args, **dict(kwargs or {})} if args else kwargs


def due(task: Task) -> datetime | None:
    """When a waiting task is due, or a running one was; of a finished one its attempts tell."""
    timed = getattr(task, "schedule", None) or getattr(task, "lease", None)
    return timed.due_at if timed else None


def progress(task: Task) -> Any:
    """How far a running task says it has come. Whatever somebody wrote there by hand is told as it stands."""
    lease = getattr(task, "lease", None)
    return lease.progress if lease else None


def error(task: Task) -> Any:
    """Of its last failed attempt, unless it has succeeded since: then only that attempt tells of it."""
    return None if task.state == TaskState.SUCCEEDED else task.error


def instant(value: datetime | None) -> str | None:
    """RFC 3339, in UTC."""
    return value.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z" if value else None
