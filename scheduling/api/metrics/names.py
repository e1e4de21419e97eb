"""Owns how many names get into labels. Pure.

Every tenant and every queue is a time series of its own, for ever, in whatever collects them; and tenants
name queues as they like. So the first of each are named, in the order in which they were made because that
never changes, and the rest are summed up.
"""

from collections import Counter

from scheduling.ledger.survey import LaneFigures, Survey

OTHER = "other"


class Names:
    """What tenants and queues are called in labels."""

    def __init__(self, survey: Survey, *, most_tenants: int, most_queues: int) -> None:
        named = survey.tenants[:most_tenants]
        self._tenants = {one.tenant.pk: one.tenant.slug for one in named}
        self._queues: set[tuple[int, str]] = set()
        used: Counter[int] = Counter()
        for lane in survey.lanes:
            if lane.tenant_id in self._tenants and used[lane.tenant_id] < most_queues:
                used[lane.tenant_id] += 1
                self._queues.add((lane.tenant_id, lane.queue))

    def tenant(self, tenant_id: int) -> str:
        return self._tenants.get(tenant_id, OTHER)

    def is_named(self, tenant_id: int) -> bool:
        return tenant_id in self._tenants

    def lane(self, lane: LaneFigures) -> tuple[str, str]:
        """Tenant and queue."""
        queue = lane.queue if (lane.tenant_id, lane.queue) in self._queues else OTHER
        return self.tenant(lane.tenant_id), queue
