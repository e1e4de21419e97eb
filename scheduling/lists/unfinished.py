"""Owns how tasks that are not over are found: in the two small tables that hold them, and not in all of history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from scheduling.lists import paging
from scheduling.models import Lane, Lease, Schedule, Task
from scheduling.states import Readiness, TaskState
from tenants.models import Tenant

SCHEDULED, RETRYING = "scheduled", "retrying"
"""Ways of being queued, which are shown and not stored."""
STATES = frozenset({TaskState.QUEUED.value, TaskState.RUNNING.value, SCHEDULED, RETRYING})
LANES_APART = 20
"""So many are read one by one, in one query: then nobody can take the whole table for the shorter way."""
IN_ONE_LANE: Mapping[Readiness, Sequence[str]] = {
    Readiness.NOT_DUE: ("task",),
    Readiness.READY: ("-priority", "due_at", "task"),
    Readiness.HELD: (),
}
"""The orders that their indexes have, so that each is read by its own, and no further than is asked."""


@dataclass(frozen=True)
class Unfinished:
    """Where the tasks in one of those states are, of a tenant (None: of all), perhaps of one queue.

    A handful of queries tell, however many lanes there are; what they told is kept for the steps of a page.
    """

    state: str
    tenant: Tenant | None
    queue: str | None
    lowest: UUID | None = None
    ceiling: UUID | None = None
    """No others are looked for than those from the one on up to before the other."""

    @cached_property
    def few(self) -> list[UUID] | None:
        """The ids of all that can be in that state, in no order. None: they are more than a step looks at."""
        most = paging.WALK + 1
        ids = together([rows[:most] for rows in self._parts], most)
        return ids if len(ids) < most else None

    def newest(self, below: UUID | None) -> tuple[list[UUID], bool]:
        """Ids from the newest on, among which are all of that state that are as new; and whether those are all."""
        parts = self._parts_by_age
        most = paging.WALK // len(parts) or 1
        ids = together([self._within(rows, below).order_by("-pk")[:most] for rows in parts])
        return sorted(ids, reverse=True)[:most], len(ids) < most

    def _within(self, rows: QuerySet[Any], below: UUID | None) -> QuerySet[Any]:
        for ceiling in (below, self.ceiling):
            if ceiling is not None:
                rows = rows.filter(pk__lt=ceiling)
        return rows if self.lowest is None else rows.filter(pk__gte=self.lowest)

    @property
    def _parts_by_age(self) -> list[QuerySet[Any]]:
        """Of which the newest rows can be had: all that waits or runs, by its key; what is not due, lane by lane."""
        if self.state == TaskState.RUNNING:
            return [Lease.objects.all()]
        if self.state == SCHEDULED and self._lanes:
            return [
                Schedule.objects.filter(lane=lane, readiness=Readiness.NOT_DUE)
                for lane in self._lanes
            ]
        return [Schedule.objects.all()]

    @property
    def _parts(self) -> list[QuerySet[Any]]:
        """All of them. In one lane the rows of each readiness are read by the order of their own index."""
        if self.state == TaskState.RUNNING:
            leases = Lease.objects.order_by()
            return [leases.filter(tenant=self.tenant) if self.tenant else leases]
        wanted = [one for one in Readiness if self.state != SCHEDULED or one is not Readiness.READY]
        if self._lanes is None:
            waiting = Schedule.objects.order_by()
            if self.tenant is not None or self.queue is not None:
                waiting = waiting.filter(lane__in=self._in_reach())
            return [waiting.filter(readiness=readiness) for readiness in wanted]
        return [
            Schedule.objects.filter(lane=lane, readiness=readiness).order_by(
                *IN_ONE_LANE[readiness]
            )
            for lane in self._lanes
            for readiness in wanted
        ]

    @cached_property
    def _lanes(self) -> list[int] | None:
        """None: of all, or of too many to be read one by one."""
        if self.tenant is None and self.queue is None:
            return None
        lanes = list(self._in_reach().values_list("pk", flat=True)[: LANES_APART + 1])
        return lanes if len(lanes) <= LANES_APART else None

    def _in_reach(self) -> QuerySet[Lane]:
        lanes = Lane.objects.order_by()
        if self.tenant is not None:
            lanes = lanes.filter(tenant=self.tenant)
        return lanes if self.queue is None else lanes.filter(queue=self.queue)


def together(parts: Sequence[QuerySet[Any]], most: int | None = None) -> list[UUID]:
    """The keys of what all of them find, in one query. The ORM unites no parts that have an order and an end on SQLite."""
    if not parts:
        return []
    each = [part.values("pk").query.sql_with_params() for part in parts]
    sql = " UNION ALL ".join(
        f"SELECT * FROM ({one}) AS part_{n}"  # noqa: S608  # nosec B608  # the ORM's, whose values are bound
        for n, (one, _) in enumerate(each)
    )
    if most is not None:
        sql += f" LIMIT {most:d}"
    key = Task._meta.pk
    with connection.cursor() as cursor:
        cursor.execute(sql, [param for _, params in each for param in params])
        return [key.to_python(found) for (found,) in cursor]
