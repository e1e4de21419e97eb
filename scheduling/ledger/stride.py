"""Stride scheduling between lanes: who is served next, and next after that. Pure.

"Stride Scheduling: Deterministic Proportional-Share Resource Management", C. Waldspurger and W. Weihl, 1995.
The lane with the least virtual time is served, and moves on by one task over its weight. A lane that had
nothing to do re-enters at the virtual time dispatch has reached, so silence earns no credit.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from scheduling.ledger.dialects import LaneShare


@dataclass(slots=True)
class Round:
    """The next tasks to serve, as lane ids in order, and where serving them leaves virtual time."""

    order: list[int] = field(default_factory=list)
    virtual_times: dict[int, float] = field(default_factory=dict)
    reached: float = 0.0

    @property
    def counts(self) -> Counter[int]:
        return Counter(self.order)


def plan(
    lanes: Iterable[LaneShare], limit: int, reached: float, supply: Mapping[int, int]
) -> Round:
    """Choose up to `limit` tasks. `supply` holds the lanes whose end is known, and how much they have.

    A tenant is served no further than its room, over all of its lanes.
    """
    by_id = {lane.lane_id: lane for lane in lanes}
    room = {lane.tenant_id: lane.room for lane in by_id.values()}
    left = {lane_id: supply.get(lane_id, limit) for lane_id in by_id}
    heap = [(max(lane.virtual_time, reached), lane.lane_id) for lane in by_id.values()]
    heapify(heap)
    round_ = Round(reached=reached)
    while heap and len(round_.order) < limit:
        at, lane_id = heappop(heap)
        lane = by_id[lane_id]
        spare = room[lane.tenant_id]
        if left[lane_id] <= 0 or (spare is not None and spare <= 0):
            continue
        left[lane_id] -= 1
        if spare is not None:
            room[lane.tenant_id] = spare - 1
        round_.order.append(lane_id)
        round_.reached = at
        round_.virtual_times[lane_id] = at + 1 / lane.weight
        heappush(heap, (at + 1 / lane.weight, lane_id))
    return round_
