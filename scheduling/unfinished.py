"""Owns how tasks that are not over are found: in the two small tables that hold them, and not in all of history."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from scheduling import paging
from scheduling.models import Lane, Lease, Schedule
from scheduling.states import Readiness, TaskState
from tenants.models import Tenant

SCHEDULED, RETRYING = "scheduled", "retrying"
"""Ways of being queued, which are shown and not stored."""
STATES = frozenset({TaskState.QUEUED.value, TaskState.RUNNING.value, SCHEDULED, RETRYING})
LANES_NAMED = 100
"""So many are named to the database one by one, so that it knows how much they hold."""
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
        ids: list[UUID] = []
        for rows in self._parts():
            ids += rows.values_list("pk", flat=True)[: paging.WALK + 1 - len(ids)]
            if len(ids) > paging.WALK:
                return None
        return ids

    def newest(self, below: UUID | None, most: int) -> list[UUID]:
        """So many ids from the newest on, among which are all of that state that are as new."""
        rows = self._by_age()
        for ceiling in (below, self.ceiling):
            if ceiling is not None:
                rows = rows.filter(pk__lt=ceiling)
        if self.lowest is not None:
            rows = rows.filter(pk__gte=self.lowest)
        return list(rows.order_by("-pk").values_list("pk", flat=True)[:most])

    def _by_age(self) -> QuerySet[Any]:
        """What has an order by age: all that waits or runs, by its key; what is not due, in one lane."""
        if self.state == TaskState.RUNNING:
            return Lease.objects.all()
        if self.state == SCHEDULED and len(self._lanes or ()) == 1:
            return self._waiting.filter(readiness=Readiness.NOT_DUE)
        return Schedule.objects.all()

    def _parts(self) -> Iterator[QuerySet[Any]]:
        if self.state == TaskState.RUNNING:
            leases = Lease.objects.order_by()
            yield leases.filter(tenant=self.tenant) if self.tenant else leases
            return
        for readiness in Readiness:
            if self.state != SCHEDULED or readiness is not Readiness.READY:
                rows = self._waiting.filter(readiness=readiness)
                is_one_lane = len(self._lanes or ()) == 1
                yield rows.order_by(*(IN_ONE_LANE[readiness] if is_one_lane else ()))

    @cached_property
    def _lanes(self) -> list[int] | None:
        """None: of all. More than are named if there are more."""
        if self.tenant is None and self.queue is None:
            return None
        return list(self._in_reach().values_list("pk", flat=True)[: LANES_NAMED + 1])

    def _in_reach(self) -> QuerySet[Lane]:
        lanes = Lane.objects.order_by()
        if self.tenant is not None:
            lanes = lanes.filter(tenant=self.tenant)
        return lanes if self.queue is None else lanes.filter(queue=self.queue)

    @property
    def _waiting(self) -> QuerySet[Schedule]:
        if self._lanes is None:
            return Schedule.objects.all()
        if len(self._lanes) == 1:
            return Schedule.objects.filter(lane=self._lanes[0])
        named = len(self._lanes) <= LANES_NAMED
        return Schedule.objects.filter(lane__in=self._lanes if named else self._in_reach())
