"""Owns how the list of tasks is narrowed without walking through history."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from scheduling.lists.paging import Step, below, lowest_walked
from scheduling.lists.unfinished import RETRYING, SCHEDULED, Unfinished
from scheduling.lists.unfinished import STATES as UNFINISHED
from scheduling.models.task import TaskQuerySet
from scheduling.states import TaskState
from tenants.models import Tenant

CLOCKS_APART = timedelta(days=1)
"""An id carries its enqueuer's clock and `created_at` the database's; they are never further apart."""
STATES = [*(state.value for state in TaskState), SCHEDULED, RETRYING]

COLUMNS = {
    "name": "name",
    "queue": "queue",
    "key": "idempotency_key",
    "label": "label",
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
    unfinished: Unfinished | None = None
    """Where they are, if they are not over."""

    def step(self, cursor: UUID | None) -> Step:
        """The next of them, for a page."""
        if self.among is None:
            return Step(below(self.tasks, cursor), None)
        if self.unfinished is None:
            return self._walk(lowest_walked(self.among, cursor), cursor)
        return self._step_among_unfinished(self.unfinished, self.among, cursor)

    def _step_among_unfinished(
        self, unfinished: Unfinished, among: TaskQuerySet, cursor: UUID | None
    ) -> Step:
        """To the end if they are few. Otherwise through all that waits, or all there are, whichever gets further."""
        if unfinished.few is not None:
            return Step(below(self.tasks.filter(pk__among=unfinished.few), cursor), None)
        newest, are_all = unfinished.newest(cursor)
        if are_all:
            return Step(self.tasks.filter(pk__among=newest), None)
        floor = lowest_walked(among, cursor)
        if floor is None or floor < newest[-1]:
            return self._walk(floor, cursor)
        return Step(self.tasks.filter(pk__among=newest), newest[-1])

    def _walk(self, floor: UUID | None, cursor: UUID | None) -> Step:
        tasks = below(self.tasks, cursor)
        return Step(tasks if floor is None else tasks.filter(id__gte=floor), floor)


def narrowed(
    tasks: TaskQuerySet,
    asked: Mapping[str, Any],
    now: datetime,
    *,
    tenant: Tenant | None,
    by_label: bool = True,
) -> Narrowed:
    """The tasks that match every filter, phrased on what small tables and indexes hold.

    `tenant` is the one whose they are; None: everybody's. A label leads to few tasks as a rule, and so before a state
    does; not where `by_label` says that an index leads to these tasks already.
    """
    state = asked.get("state")
    leading = "label" if by_label and "label" in asked else "state"
    led = Q(label=asked["label"]) if leading == "label" else led_by(state, tenant)
    among = tasks = within(tasks, asked).filter(led or Q())
    for name, value in asked.items():
        if name == "state":
            tasks = in_state(tasks, value, now)
        elif name in COLUMNS:
            tasks = tasks.filter(**{COLUMNS[name]: value})
    if "key" in asked:
        return Narrowed(tasks if tenant else of_any_tenant(tasks), None)
    if state in UNFINISHED:
        return Narrowed(
            tasks, among, Unfinished(str(state), tenant, asked.get("queue"), *bounds(asked))
        )
    is_told_apart = asked.keys() & {"state", *COLUMNS} - ({leading} if led else set())
    return Narrowed(tasks, among if is_told_apart else None)


def led_by(state: str | None, tenant: Tenant | None) -> Q | None:
    """What an index holds of which nearly all are in that state. Who was cancelled is indexed by tenant."""
    if state == TaskState.DEAD:
        return Q(dead_reason__isnull=False)
    if state == TaskState.CANCELLED and tenant is not None:
        return Q(cancel_requested_at__isnull=False)
    return None


def of_any_tenant(tasks: TaskQuerySet) -> TaskQuerySet:
    """For what is indexed by tenant: one after the other."""
    return tasks.filter(tenant__in=Tenant.objects.order_by().values("pk"))


def within(tasks: TaskQuerySet, asked: Mapping[str, Any]) -> TaskQuerySet:
    """The part of the order of ids in which the asked instants of creation lie. None finishes uncreated."""
    lowest, ceiling = bounds(asked)
    if lowest is not None:
        tasks = tasks.filter(id__gte=lowest)
    if after := asked.get("created_after"):
        tasks = tasks.filter(created_at__gte=after)
    if before := asked.get("created_before"):
        tasks = tasks.filter(created_at__lt=before)
    return below(tasks, ceiling)


def bounds(asked: Mapping[str, Any]) -> tuple[UUID | None, UUID | None]:
    """Of the ids that can match: the lowest, and the first that is too high."""
    after = asked.get("created_after")
    befores = [asked[name] for name in ("created_before", "finished_before") if asked.get(name)]
    return (
        first_id(after, -CLOCKS_APART) if after else None,
        first_id(min(befores), CLOCKS_APART) if befores else None,
    )


def in_state(tasks: TaskQuerySet, state: str, now: datetime) -> TaskQuerySet:
    match state:
        case TaskState.QUEUED:
            return tasks.filter(schedule__isnull=False)
        case "scheduled":
            return tasks.filter(schedule__due_at__gt=now, attempts=0)
        case "retrying":
            return tasks.filter(schedule__isnull=False, attempts__gt=0)
        case _:
            return tasks.filter(state=state)


def first_id(instant: datetime, shift: timedelta) -> UUID:
    """No id made from then on is smaller (UUID version 7 begins with milliseconds).

    Shifted as a number, because the first and the last days of the calendar have no neighbour.
    """
    milliseconds = max(int((instant.timestamp() + shift.total_seconds()) * 1000), 0)
    return UUID(int=milliseconds << 80)
