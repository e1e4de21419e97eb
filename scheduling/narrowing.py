"""Owns how the list of tasks is narrowed without walking through history."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from scheduling.models import Lease
from scheduling.models.task import TaskQuerySet
from scheduling.states import TaskState

CLOCKS_APART = timedelta(days=1)
"""An id carries its enqueuer's clock and `created_at` the database's; they are never further apart."""
SCHEDULED, RETRYING = "scheduled", "retrying"
"""Ways of being queued, which are shown and not stored."""
LEADING = (TaskState.RUNNING.value, TaskState.DEAD.value)
"""States that an index leads to."""
STATES = [*(state.value for state in TaskState), SCHEDULED, RETRYING]

COLUMNS = {
    "name": "name",
    "queue": "queue",
    "key": "idempotency_key",
    "error_class": "error__of_class",
    "dead_reason": "dead_reason",
    "finished_after": "finished_at__gte",
    "finished_before": "finished_at__lt",
}


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The tasks that match, and those among which they have to be looked for."""

    tasks: TaskQuerySet
    among: TaskQuerySet | None
    """None: an index leads to those that match. Otherwise they are told one by one, and pages are bounded."""


def narrowed(
    tasks: TaskQuerySet, asked: Mapping[str, Any], now: datetime, *, of_one_tenant: bool
) -> Narrowed:
    """The tasks that match every filter, phrased on what small tables and indexes hold.

    Keys are indexed by tenant, and lead nowhere when everybody's tasks are asked for.
    """
    among = tasks = within(tasks, asked)
    if (state := asked.get("state")) in LEADING:
        among = in_state(among, state, now)
    for name, value in asked.items():
        if name == "state":
            tasks = in_state(tasks, value, now)
        elif name in COLUMNS:
            tasks = tasks.filter(**{COLUMNS[name]: value})
    told_by_others = asked.keys() & COLUMNS.keys() or ("state" in asked and state not in LEADING)
    is_led = not told_by_others or ("key" in asked and of_one_tenant)
    return Narrowed(tasks, None if is_led else among)


def within(tasks: TaskQuerySet, asked: Mapping[str, Any]) -> TaskQuerySet:
    """The part of the order of ids in which the asked instants of creation lie. None finishes uncreated."""
    if after := asked.get("created_after"):
        tasks = tasks.filter(created_at__gte=after, id__gte=first_id(after, -CLOCKS_APART))
    if before := asked.get("created_before"):
        tasks = tasks.filter(created_at__lt=before, id__lt=first_id(before, CLOCKS_APART))
    if before := asked.get("finished_before"):
        tasks = tasks.filter(id__lt=first_id(before, CLOCKS_APART))
    return tasks


def in_state(tasks: TaskQuerySet, state: str, now: datetime) -> TaskQuerySet:
    """Waiting and running tasks are in two small tables; looking there spares the finished ones."""
    match state:
        case TaskState.QUEUED:
            return tasks.filter(schedule__isnull=False)
        case "scheduled":
            return tasks.filter(schedule__due_at__gt=now, attempts=0)
        case "retrying":
            return tasks.filter(schedule__isnull=False, attempts__gt=0)
        case TaskState.RUNNING:
            return tasks.filter(
                pk__among=list(Lease.objects.order_by().values_list("pk", flat=True))
            )
        case TaskState.DEAD:
            return tasks.dead()
        case _:
            return tasks.filter(state=state)


def first_id(instant: datetime, shift: timedelta) -> UUID:
    """No id made from then on is smaller (UUID version 7 begins with milliseconds).

    Shifted as a number, because the first and the last days of the calendar have no neighbour.
    """
    milliseconds = max(int((instant.timestamp() + shift.total_seconds()) * 1000), 0)
    return UUID(int=milliseconds << 80)
