"""Reads what failed of a tenant's latest tasks, grouped by error and name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from scheduling.models import Task
from scheduling.models.task import TaskQuerySet
from tenants.models import Tenant

TASKS_READ = 2_000
DEAD_READ = 500
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Failures:
    """Failures with one error, of tasks of one name."""

    name: str
    error: str
    message: str
    """Of the latest."""
    count: int
    dead: int
    latest: UUID


Found: TypeAlias = Sequence[tuple[Any, ...]]
"""Id, name, error and dead reason of tasks, the latest first."""


def latest_of(tenant: Tenant) -> Found:
    """Its latest tasks, failed or not: asked of the database, it might walk far to find so many that did."""
    return _found(_tasks_of(tenant), TASKS_READ)


def of(tenant: Tenant, latest: Found) -> list[Failures]:
    """Among these and its latest dead letters, the most frequent first."""
    are_all = len(latest) < TASKS_READ
    dead = () if are_all else _found(_tasks_of(tenant).dead(), DEAD_READ)
    failed = {row[0]: row[1:] for row in (*latest, *dead) if row[2] is not None}
    groups: dict[tuple[str, str], list[tuple[UUID, str, bool]]] = {}
    for pk in sorted(failed, reverse=True):
        name, error, reason = failed[pk]
        told: Mapping[str, Any] = error if isinstance(error, dict) else {}
        found = groups.setdefault((name, str(told.get("class", ""))), [])
        found.append((pk, str(told.get("message", "")), bool(reason)))
    grouped = [
        Failures(
            name=name,
            error=error,
            message=found[0][1],
            count=len(found),
            dead=sum(is_dead for _, _, is_dead in found),
            latest=found[0][0],
        )
        for (name, error), found in groups.items()
    ]
    return sorted(grouped, key=lambda one: -one.count)[:SHOWN]


def _tasks_of(tenant: Tenant) -> TaskQuerySet:
    return Task.objects.filter(tenant=tenant).order_by("-pk")


def _found(tasks: TaskQuerySet, most: int) -> Found:
    return list(tasks.values_list("pk", "name", "error", "dead_reason")[:most])
