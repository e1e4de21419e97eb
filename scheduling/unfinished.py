"""Owns how tasks that are not over are found: in the two small tables that hold them, and not in all of history."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from scheduling.models import Lane, Lease, Schedule
from scheduling.states import Readiness, TaskState
from tenants.models import Tenant

SCHEDULED, RETRYING = "scheduled", "retrying"
"""Ways of being queued, which are shown and not stored."""
STATES = frozenset({TaskState.QUEUED.value, TaskState.RUNNING.value, SCHEDULED, RETRYING})
LANES_APART = 20
"""So many are asked one by one: then nobody can take the whole table for the shorter way."""
IN_ONE_LANE: Mapping[Readiness, Sequence[str]] = {
    Readiness.NOT_DUE: ("task",),
    Readiness.READY: ("-priority", "due_at", "task"),
    Readiness.HELD: (),
}
"""The orders that their indexes have, so that each is read by its own, and no further than is asked."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Where the tasks in one of those states are, of a tenant (None: of all), perhaps of one queue."""

    state: str
    tenant: Tenant | None
    queue: str | None
    lowest: UUID | None = None
    ceiling: UUID | None = None
    """No others are looked for than those from the one on up to before the other."""

    def all_if_few(self, most: int) -> list[UUID] | None:
        """The ids of all that can be in that state, in no order. None: they are more, and not worth sorting."""
        ids: list[UUID] = []
        for rows in self._parts():
            ids += rows.values_list("pk", flat=True)[: most + 1 - len(ids)]
            if len(ids) > most:
                return None
        return ids

    def newest(self, below: UUID | None, most: int) -> list[UUID]:
        """So many ids from the newest on, among which are all of that state that are as new."""
        ids: list[UUID] = []
        for rows in self._tables_by_age():
            for ceiling in (below, self.ceiling):
                if ceiling is not None:
                    rows = rows.filter(pk__lt=ceiling)
            if self.lowest is not None:
                rows = rows.filter(pk__gte=self.lowest)
            ids += rows.order_by("-pk").values_list("pk", flat=True)[:most]
        return sorted(ids, reverse=True)[:most]

    def _tables_by_age(self) -> list[QuerySet[Any]]:
        """Of which the newest rows can be had: all that waits or runs, by its key; what is not due, lane by lane."""
        if self.state == TaskState.RUNNING:
            return [Lease.objects.all()]
        lanes = list(self._by_lane())
        if self.state == SCHEDULED and all(is_one_lane for _, is_one_lane in lanes):
            return [schedules.filter(readiness=Readiness.NOT_DUE) for schedules, _ in lanes]
        return [Schedule.objects.all()]

    def _parts(self) -> Iterator[QuerySet[Any]]:
        if self.state == TaskState.RUNNING:
            leases = Lease.objects.order_by()
            yield leases.filter(tenant=self.tenant) if self.tenant else leases
            return
        wanted = [one for one in Readiness if self.state != SCHEDULED or one is not Readiness.READY]
        for schedules, is_one_lane in self._by_lane():
            for readiness in wanted:
                order = IN_ONE_LANE[readiness] if is_one_lane else ()
                yield schedules.filter(readiness=readiness).order_by(*order)

    def _by_lane(self) -> Iterator[tuple[QuerySet[Schedule], bool]]:
        """One lane after the other, unless they are many; and whether it is one."""
        if self.tenant is None and self.queue is None:
            yield Schedule.objects.all(), False
            return
        lanes = Lane.objects.order_by()
        if self.tenant is not None:
            lanes = lanes.filter(tenant=self.tenant)
        if self.queue is not None:
            lanes = lanes.filter(queue=self.queue)
        ids = list(lanes.values_list("pk", flat=True)[: LANES_APART + 1])
        if len(ids) > LANES_APART:
            yield Schedule.objects.filter(lane__in=lanes), False
        else:
            for lane in ids:
                yield Schedule.objects.filter(lane=lane), True
