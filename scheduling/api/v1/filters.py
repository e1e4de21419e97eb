"""Owns how the list of tasks is narrowed without walking through history."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from scheduling.models.task import TaskQuerySet
from scheduling.states import TaskState

CLOCKS_APART = timedelta(days=1)
"""An id carries its enqueuer's clock and `created_at` the database's; they are never further apart."""


def narrowed(tasks: TaskQuerySet, asked: Mapping[str, Any]) -> TaskQuerySet:
    """The tasks that match every filter, phrased on what small tables and indexes hold."""
    for name, value in asked.items():
        match name:
            case "name" | "queue":
                tasks = tasks.filter(**{name: value})
            case "state":
                tasks = in_state(tasks, TaskState(value))
            case "created_after":
                earliest = first_id(value, -CLOCKS_APART)
                tasks = tasks.filter(created_at__gte=value, id__gte=earliest)
            case "created_before":
                latest = first_id(value, CLOCKS_APART)
                tasks = tasks.filter(created_at__lt=value, id__lt=latest)
    return tasks


def in_state(tasks: TaskQuerySet, state: TaskState) -> TaskQuerySet:
    """Waiting and running tasks are in two small tables; looking there spares the finished ones."""
    match state:
        case TaskState.QUEUED:
            return tasks.filter(schedule__isnull=False)
        case TaskState.RUNNING:
            return tasks.filter(lease__isnull=False)
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
