"""Owns how it is said why a task is not running: one sentence for the API and the console alike."""

from collections.abc import Callable, Mapping
from datetime import datetime

from scheduling.declaring.remote import is_remote
from scheduling.ledger import Explanation, Why
from scheduling.ledger.explain import FURTHEST
from scheduling.models import Pause, Task
from scheduling.states import TaskState

Instant = Callable[[datetime], str | None]
"""How an instant is written there."""
NOBODY = "no worker process that serves its queue is alive"


def sentence(task: Task, found: Explanation, instant: Instant) -> str:
    """What `ledger.explain` found of the task, which was read with its schedule, lease and tenant."""
    return SENTENCES[found.why](task, found, instant)


def finished(task: Task) -> str:
    if task.state == TaskState.DEAD:
        return f"It is a dead letter: {str(task.dead_reason).replace('_', ' ')}."
    return "It was cancelled." if task.state == TaskState.CANCELLED else "It has succeeded."


def running(task: Task) -> str:
    return f"It is running, attempt {task.attempts + 1} of {task.max_attempts}."


def not_due(task: Task, instant: Instant) -> str:
    return f"It is not due until {instant(task.schedule.due_at)}."


def paused(found: Explanation) -> str:
    return f"The kill switch holds it: {', '.join(map(told, found.pauses))}."


def told(pause: Pause) -> str:
    return f"{pause.scope} is paused" + (f" ({pause.reason})" if pause.reason else "")


def late(task: Task, instant: Instant) -> str:
    deadline = task.deadline and instant(task.deadline)
    return f"Its deadline {deadline} has passed, so it will not run."


def at_cap(task: Task, found: Explanation) -> str:
    cap = task.tenant.max_in_flight
    return f"Its tenant has {found.in_flight} in flight, and may have {cap}."


def behind(task: Task, found: Explanation) -> str:
    own, others = found.ahead_in_lane, found.ahead_in_other_lanes
    at_least = "At least " if own + others >= FURTHEST else ""
    tasks = "task is" if own + others == 1 else "tasks are"
    nobody = "" if found.workers or is_remote(task.queue) else f"; and {NOBODY}"
    return (
        f"{at_least}{own + others} {tasks} served before it:"
        f" {own} in its own lane, {others} in other lanes{nobody}."
    )


def first_in_line(task: Task, found: Explanation) -> str:
    if is_remote(task.queue):
        return "It is next: the first remote worker that asks for its queue takes it."
    if found.workers:
        return "It is next: the first worker that has a free slot takes it."
    return f"It is next, and {NOBODY}."


SENTENCES: Mapping[Why, Callable[[Task, Explanation, Instant], str]] = {
    Why.FINISHED: lambda task, _, __: finished(task),
    Why.RUNNING: lambda task, _, __: running(task),
    Why.NOT_DUE: lambda task, _, instant: not_due(task, instant),
    Why.PAUSED: lambda _, found, __: paused(found),
    Why.DEADLINE_PASSED: lambda task, _, instant: late(task, instant),
    Why.AT_CAP: lambda task, found, _: at_cap(task, found),
    Why.BEING_READIED: lambda *_: (
        "Nothing holds it any more: it is ready from a worker's next look on."
    ),
    Why.BEHIND_OTHERS: lambda task, found, _: behind(task, found),
    Why.NEXT: lambda task, found, _: first_in_line(task, found),
}
