"""Stride scheduling between tenants: who is served next, and next after that. Pure.

"Stride Scheduling: Deterministic Proportional-Share Resource Management", C. Waldspurger and W. Weihl, 1995.
The tenant with the least virtual time is served, and moves on by one task over its weight. Among its lanes
it is the turn of the one that was served least recently.

Where a tenant stands is always read against where dispatch has got to. One that was idle, or at its cap, has
fallen behind: it is taken to stand where dispatch does, so silence earns no credit. One that other kinds of
worker served meanwhile has run ahead: it is brought back to one turn ahead, and written there, so that
starves nobody.
Among tenants that only wait for each other neither happens, and their shares are exact.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from scheduling.ledger.dialects import LaneShare


@dataclass(slots=True)
class Round:
    """The next tasks to serve, as lane ids in order, and where serving them leaves everybody."""

    order: list[int] = field(default_factory=list)
    reached: float = 0.0
    """By dispatch."""
    turns: dict[int, float] = field(default_factory=dict)
    """By each tenant that is served, or brought back."""
    served_at: dict[int, float] = field(default_factory=dict)
    """Where its tenant stood once each lane that is served was served last; no further than that was brought back."""

    @property
    def counts(self) -> Counter[int]:
        return Counter(self.order)


def plan(
    lanes: Iterable[LaneShare], limit: int, reached: float, supply: Mapping[int, int]
) -> Round:
    """Choose up to `limit` tasks. `supply` holds the lanes whose end is known, and how much they have."""
    line = [_Waiting(own, limit, supply) for own in _by_tenant(lanes)]
    heap = [(waiting.stands_at(reached), waiting.tenant_id, waiting) for waiting in line]
    heapify(heap)
    round_ = Round(reached=reached)
    for at, tenant_id, waiting in heap:
        if at < waiting.virtual_time:
            round_.turns[tenant_id] = at
            round_.served_at |= waiting.bring_back(at)
    while heap and len(round_.order) < limit:
        at, tenant_id, waiting = heappop(heap)
        then = at + waiting.stride
        lane_id = waiting.next_lane(then)
        if lane_id is None:
            continue
        round_.order.append(lane_id)
        round_.reached = at
        round_.served_at[lane_id] = round_.turns[tenant_id] = then
        heappush(heap, (then, tenant_id, waiting))
    return round_


class _Waiting:
    """One tenant and its ready lanes, while a round is planned."""

    def __init__(self, lanes: list[LaneShare], limit: int, supply: Mapping[int, int]) -> None:
        first = lanes[0]
        self.tenant_id = first.tenant_id
        self.stride = 1 / first.weight
        self.virtual_time = max(lane.virtual_time for lane in lanes)
        self._room = limit if first.room is None else first.room
        self._left = {lane.lane_id: supply.get(lane.lane_id, limit) for lane in lanes}
        self._lanes = [(lane.served_at, lane.lane_id) for lane in lanes]
        heapify(self._lanes)

    def stands_at(self, reached: float) -> float:
        return min(max(self.virtual_time, reached), reached + self.stride)

    def bring_back(self, at: float) -> dict[int, float]:
        """Let no lane have been served later than the tenant now stands; the lanes that were."""
        back = {lane_id: at for served_at, lane_id in self._lanes if served_at > at}
        self._lanes = [(min(served_at, at), lane_id) for served_at, lane_id in self._lanes]
        heapify(self._lanes)
        return back

    def next_lane(self, then: float) -> int | None:
        """Take one task, which moves the tenant on to `then`. None: at its cap, or no more in its lanes."""
        if self._room <= 0:
            return None
        while self._lanes:
            _, lane_id = heappop(self._lanes)
            if self._left[lane_id] > 0:
                self._left[lane_id] -= 1
                self._room -= 1
                heappush(self._lanes, (then, lane_id))
                return lane_id
        return None


def _by_tenant(lanes: Iterable[LaneShare]) -> Iterable[list[LaneShare]]:
    tenants: dict[int, list[LaneShare]] = defaultdict(list)
    for lane in lanes:
        tenants[lane.tenant_id].append(lane)
    return tenants.values()
