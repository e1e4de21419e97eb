"""Why a task is not running, from what a claim goes by: the kill switch, the caps, and the plan between lanes.

Plain reads without locks, one after the other: true of an instant at which nothing else happened. Order is as
a worker finds it that serves every queue, or, for a remote one, that queue.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import IntegerField, OuterRef, Q, QuerySet, Subquery

from scheduling.conf import conf
from scheduling.ledger.claim import pool_of, reach_of
from scheduling.ledger.dialects import LaneShare, dialect
from scheduling.ledger.kill_switch import InLane, KillSwitch
from scheduling.ledger.stride import plan
from scheduling.models import Dispatch, Lane, Lease, Pause, Schedule, Task, WorkerProcess
from scheduling.states import Readiness, TaskState

FURTHEST = 100
"""Tasks ahead are counted no further."""
MOST_LANES = 1000
"""Ready lanes that are weighed against each other, from the one that is served first on."""


class Why(StrEnum):
    FINISHED = "finished"
    RUNNING = "running"
    NOT_DUE = "not_due"
    PAUSED = "paused"
    DEADLINE_PASSED = "deadline_passed"
    AT_CAP = "at_cap"
    BEING_READIED = "being_readied"
    """Nothing is in its way any more, and a worker's next look makes it ready."""
    BEHIND_OTHERS = "behind_others"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One reason, the first that a claim would meet, with what there is to know of it."""

    why: Why
    pauses: tuple[Pause, ...] = ()
    """Those that cover it."""
    in_flight: int | None = None
    """Of its tenant, which is at its cap."""
    ahead_in_lane: int = 0
    ahead_in_other_lanes: int = 0
    """As many as are served before it. Both together are `FURTHEST` at most, and then there may be more."""
    workers: int | None = 0
    """Processes that are alive and serve its queue. None: remote workers do, and nobody knows how many there are."""


def explain(task: Task, *, now: datetime | None = None) -> Explanation:
    """The task must have been read with its schedule and its lease, in one statement."""
    state = TaskState(task.state)
    if state.is_terminal:
        return Explanation(Why.FINISHED)
    if state is TaskState.RUNNING:
        return Explanation(Why.RUNNING)
    schedule: Schedule | None = getattr(task, "schedule", None)
    if schedule is None:
        return Explanation(Why.BEING_READIED)
    return _Waiting(task, schedule, now or dialect().now()).explain()


class _Waiting:
    """A queued task, and what is looked up about it."""

    def __init__(self, task: Task, schedule: Schedule, now: datetime) -> None:
        self.task, self.schedule, self.lane, self.now = task, schedule, schedule.lane, now
        self.is_remote = task.queue in conf().REMOTE_QUEUES
        self.reach = reach_of([task.queue] if self.is_remote else None, None)
        self.pauses = list(Pause.objects.in_force(now).select_related("tenant"))
        self.switch = KillSwitch(tuple((p.tenant_id, p.queue, p.name) for p in self.pauses))

    def explain(self) -> Explanation:
        if self.schedule.due_at > self.now:
            return Explanation(Why.NOT_DUE)
        if self.switch.stops(self.lane, self.task.name):
            return Explanation(Why.PAUSED, pauses=tuple(filter(self._covers, self.pauses)))
        if self.task.deadline and self.task.deadline <= self.now:
            return Explanation(Why.DEADLINE_PASSED)
        cap = self.task.tenant.max_in_flight
        if (
            cap is not None
            and (leases := Lease.objects.filter(tenant=self.task.tenant_id).count()) >= cap
        ):
            return Explanation(Why.AT_CAP, in_flight=leases)
        if {self.schedule.readiness, self.lane.readiness} != {Readiness.READY}:
            return Explanation(Why.BEING_READIED)
        return self._place()

    def _covers(self, pause: Pause) -> bool:
        alone = KillSwitch(((pause.tenant_id, pause.queue, pause.name),))
        return alone.stops(self.lane, self.task.name)

    def _place(self) -> Explanation:
        own = _count(self._startable(self.lane.pk, self.lane).filter(self._precedes()))
        others = self._served_before(own)
        return Explanation(
            Why.BEHIND_OTHERS if own + others else Why.NEXT,
            ahead_in_lane=own,
            ahead_in_other_lanes=others,
            workers=self._workers(),
        )

    def _startable(self, lane_id: int, lane: InLane) -> QuerySet[Schedule]:
        """What a claim finds in a lane, past the names that are paused there."""
        return _ready_in(lane_id, self.switch.names_paused_in(lane))

    def _precedes(self) -> Q:
        """In the order of a lane: priority, due_at, id."""
        mine = self.schedule
        return Q(priority__gt=mine.priority) | Q(priority=mine.priority) & (
            Q(due_at__lt=mine.due_at) | Q(due_at=mine.due_at, task__lt=mine.task_id)
        )

    def _served_before(self, own: int) -> int:
        """Tasks of other lanes that dispatch takes before it, when so many are ahead in its own."""
        lanes = {
            lane.lane_id: lane
            for lane in dialect().ready_lanes(self.reach, 0, MOST_LANES)
            if not self.switch.stops_lane(lane)
        }
        order = self._order(lanes)
        places = [place for place, lane_id in enumerate(order) if lane_id == self.lane.pk]
        return (places[own] if own < len(places) else len(order)) - min(own, len(places))

    def _order(self, lanes: Mapping[int, LaneShare]) -> list[int]:
        """The lanes of the tasks that are served next, as a claim plans it; a lane's end is looked up when it matters."""
        reached = Dispatch.objects.filter(pk=pool_of(self.reach)).values_list(
            "virtual_time", flat=True
        )
        begins_at = next(iter(reached), 0.0)
        supply: dict[int, int] = {}
        while True:
            round_ = plan(lanes.values(), FURTHEST, begins_at, supply)
            unknown = round_.counts.keys() - supply.keys()
            if not unknown:
                return round_.order
            supply |= self._supplies([lanes[lane_id] for lane_id in unknown])

    def _supplies(self, lanes: Sequence[LaneShare]) -> dict[int, int]:
        """How much each lane holds, in a statement for each set of names that is paused in some of them."""
        alike: dict[frozenset[str], list[int]] = {}
        for lane in lanes:
            paused = frozenset(self.switch.names_paused_in(lane))
            alike.setdefault(paused, []).append(lane.lane_id)
        return {
            lane_id: count
            for paused, lane_ids in alike.items()
            for lane_id, count in _counts(lane_ids, _ready_in(OuterRef("pk"), paused))
        }

    def _workers(self) -> int | None:
        if self.is_remote:
            return None
        served = WorkerProcess.objects.alive(self.now).values_list("queues", flat=True)
        return sum(not queues or self.task.queue in queues for queues in served)


def _ready_in(lane: int | OuterRef, paused: Collection[str]) -> QuerySet[Schedule]:
    ready = Schedule.objects.filter(lane=lane, readiness=Readiness.READY)
    return ready.exclude(task__name__in=paused) if paused else ready


class _CountedNoFurther(Subquery):
    """How many rows a subquery has: it stops at its limit, where COUNT over a join would not."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


def _counts(
    lane_ids: Sequence[int], schedules: QuerySet[Schedule]
) -> QuerySet[Lane, tuple[int, int]]:
    few = schedules.order_by().values("pk")[:FURTHEST]
    return Lane.objects.filter(pk__in=lane_ids).values_list("pk", _CountedNoFurther(few))


def _count(schedules: QuerySet[Schedule]) -> int:
    return schedules.order_by()[:FURTHEST].count()
