"""Claiming: picking what runs next, and by whom."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from scheduling.ledger.bury import bury
from scheduling.ledger.dialects import Dialect, Head, LaneShare, Started, dialect
from scheduling.ledger.kill_switch import KillSwitch
from scheduling.ledger.stride import Round, plan
from scheduling.ledger.values import Claim
from scheduling.states import Readiness

LEASE = timedelta(seconds=30)
MOST_HELD_AT_ONCE = 1000
"""Tasks with a paused name that one claim sets aside; the next one goes on from there."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a worker got, in the order in which it is to be started."""

    claims: list[Claim] = field(default_factory=list)
    contended: bool = False
    """True: there may be more than was found; look again within milliseconds."""


def claim(
    worker: UUID,
    *,
    limit: int,
    queues: Collection[str] | None = None,
    lease: timedelta = LEASE,
    now: datetime | None = None,
) -> Claims:
    """Lease up to `limit` ready tasks to a worker, each under a new generation.

    Between lanes by stride, inside one by priority (higher first), due_at and id. Never from a lane or of
    a name that is paused, never more than `max_in_flight` of a tenant. `queues` None: from all of them.
    One transaction. Claims take turns, so what one decides on is not changed by another; it waits for nobody else.
    """
    with transaction.atomic():
        return _Claiming(dialect(), worker, limit, queues, lease, now).run()


class _Claiming:
    """One claim. The lanes that are looked at are gathered first, then what is at their heads."""

    def __init__(
        self,
        db: Dialect,
        worker: UUID,
        limit: int,
        queues: Collection[str] | None,
        lease: timedelta,
        now: datetime | None,
    ) -> None:
        self.db, self.worker, self.limit, self.queues, self.lease = db, worker, limit, queues, lease
        self.reached, self.now = db.take_turn(now)
        self.switch = KillSwitch.at(self.now)
        self.found: dict[int, list[Head]] = {}
        self.ends: dict[int, int] = {}
        """Lanes that have no more ready work than was found."""
        self.unsure: set[int] = set()
        """Lanes whose first thousand hold paused names: what lies beyond was not looked at."""
        self.looked_at_all = False
        """Whether no ready lane comes after the eligible ones."""

    def run(self) -> Claims:
        if self.switch.stops_everything:
            return Claims()
        lanes = self._eligible_lanes()
        round_ = self._fill(lanes)
        claims, buried = self._start(round_, {lane.lane_id: lane for lane in lanes})
        retired = self._serve(lanes, round_)
        unseen = len(round_.order) < self.limit and not self.looked_at_all
        return Claims(claims, contended=buried or unseen or bool(self.unsure) or not retired)

    def _eligible_lanes(self) -> list[LaneShare]:
        """The ready lanes that come first, without those paused (which are set aside) or at their cap."""
        eligible: list[LaneShare] = []
        skip, width = 0, max(self.limit, 16)
        while len(eligible) < self.limit:
            lanes = self.db.ready_lanes(self.queues, skip, width)
            paused = {lane.lane_id for lane in lanes if self.switch.stops_lane(lane)}
            eligible += [lane for lane in lanes if lane.lane_id not in paused and not lane.is_full]
            held = self.db.hold_lanes(paused) if paused else 0
            if len(lanes) < width:
                self.looked_at_all = True
                break
            skip += width - held
        return eligible

    def _fill(self, lanes: Sequence[LaneShare]) -> Round:
        """Plan, look whether the lanes have what the plan asks of them, and plan again with what they have."""
        while True:
            round_ = plan(lanes, self.limit, self.reached, self.ends)
            wanting = {
                lane_id: count
                for lane_id, count in round_.counts.items()
                if lane_id not in self.ends and count > len(self.found.get(lane_id, ()))
            }
            if not wanting:
                return round_
            self._look(wanting, {lane.lane_id: lane for lane in lanes})

    def _look(self, wanting: dict[int, int], lanes: dict[int, LaneShare]) -> None:
        named = {lane_id for lane_id in wanting if self.switch.names_paused_in(lanes[lane_id])}
        plain = {lane_id: count for lane_id, count in wanting.items() if lane_id not in named}
        for lane_id in plain:
            self.found[lane_id] = []
        for head in self.db.heads(plain, named=False) if plain else ():
            self.found[head.lane_id].append(head)
        for lane_id, count in plain.items():
            if len(self.found[lane_id]) < count:
                self.ends[lane_id] = len(self.found[lane_id])
        for lane_id in named:
            self._look_past_paused_names(lanes[lane_id])

    def _look_past_paused_names(self, lane: LaneShare) -> None:
        """Set aside the paused tasks at the head of the lane; take what there is between them."""
        paused = self.switch.names_paused_in(lane)
        heads = self.db.heads({lane.lane_id: MOST_HELD_AT_ONCE}, named=True)
        held = {head.task_id for head in heads if head.name in paused}
        if held:
            self.db.set_readiness(held, Readiness.HELD)
        if len(heads) == MOST_HELD_AT_ONCE:
            self.unsure.add(lane.lane_id)
        self.found[lane.lane_id] = [head for head in heads if head.task_id not in held]
        self.ends[lane.lane_id] = len(self.found[lane.lane_id])

    def _start(self, round_: Round, lanes: dict[int, LaneShare]) -> tuple[list[Claim], bool]:
        """Lease what the round chose. Tasks whose deadline has passed become dead letters instead."""
        queues = {lane_id: iter(heads) for lane_id, heads in self.found.items()}
        chosen = [next(queues[lane_id]) for lane_id in round_.order]
        if not chosen:
            return [], False
        started = {row.task_id: row for row in self.db.start([h.task_id for h in chosen], self.now)}
        late = [head.task_id for head in chosen if head.task_id not in started]
        if late:
            bury(self.db, late, self.now)
        runs = [
            (started[head.task_id], head, lanes[head.lane_id])
            for head in chosen
            if head.task_id in started
        ]
        if not runs:
            return [], bool(late)
        expires_at = self.now + self.lease
        self.db.insert_leases(
            [
                (head.task_id, lane.tenant_id, lane.lane_id, task.generation, head.due_at)
                for task, head, lane in runs
            ],
            self.worker,
            self.now,
            expires_at,
            self.lease.total_seconds(),
        )
        return [self._claim(task, head, lane, expires_at) for task, head, lane in runs], bool(late)

    def _claim(self, task: Started, head: Head, lane: LaneShare, expires_at: datetime) -> Claim:
        return Claim(
            task_id=task.task_id,
            worker=self.worker,
            generation=task.generation,
            tenant_id=lane.tenant_id,
            tenant=lane.tenant,
            lane_id=lane.lane_id,
            name=task.name,
            queue=lane.queue,
            args_json=task.args_json,
            kwargs_json=task.kwargs_json,
            attempt=task.attempts + 1,
            max_attempts=task.max_attempts,
            timeout_seconds=task.timeout_seconds,
            deadline=task.deadline,
            due_at=head.due_at,
            acquired_at=self.now,
            expires_at=expires_at,
            idempotency_key=task.idempotency_key,
            trace_context=task.trace_context,
        )

    def _serve(self, lanes: Sequence[LaneShare], round_: Round) -> bool:
        """Move the lanes on, and retire those of which the round took the last ready task."""
        counts = round_.counts
        empty = {lane_id for lane_id, end in self.ends.items() if counts[lane_id] >= end}
        empty -= self.unsure
        touched = {
            lane.lane_id: round_.virtual_times.get(lane.lane_id, lane.virtual_time)
            for lane in lanes
            if lane.lane_id in counts or lane.lane_id in empty
        }
        if not touched:
            return True
        return self.db.serve_lanes(touched, empty, round_.reached)
