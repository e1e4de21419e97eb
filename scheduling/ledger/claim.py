"""Claiming: picking what runs next, and by whom."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from math import inf, isinf
from uuid import UUID

from django.db import transaction

from scheduling.conf import conf
from scheduling.ledger.bury import bury
from scheduling.ledger.dialects import Dialect, Head, LaneShare, Reach, Serving, Started, dialect
from scheduling.ledger.kill_switch import KillSwitch
from scheduling.ledger.paces import timed
from scheduling.ledger.stride import Round, plan
from scheduling.ledger.values import Claim
from scheduling.models import Dispatch
from scheduling.states import Readiness
from tenants.models import Tenant

LEASE = timedelta(seconds=30)
FEWEST_LANES = 16
"""Lanes that a claim looks at together, however few tasks it wants."""
A_FEW = 4
"""Tasks of each lane that a claim reads ahead when it expects to find no more."""
POOL_LENGTH_MAX = 100
MOST_HELD_AT_ONCE = 1000
"""Tasks with a paused name that one claim sets aside; the next one goes on from there."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a worker got, in the order in which it is to be started."""

    claims: list[Claim] = field(default_factory=list)
    contended: bool = False
    """True: there may be more than was found; look again within milliseconds."""


@timed("claim")
def claim(
    worker: UUID,
    *,
    limit: int,
    queues: Collection[str] | None = None,
    tenant: Tenant | None = None,
    lease: timedelta = LEASE,
    now: datetime | None = None,
    expects_few: bool = False,
) -> Claims:
    """Lease up to `limit` ready tasks to a worker, each under a new generation.

    Between tenants by stride, between the lanes of one in turn, inside a lane by priority (higher first),
    due_at and id. Nothing that is paused, and never more than `max_in_flight` of a tenant.
    `queues` None: from all but those of remote workers. `tenant` None: everybody's; a worker of one tenant
    names its queues, and costs that tenant no turn with the workers of all. `expects_few`: a guess, by which a
    task that comes alone is found in fewer round trips. One transaction; on PostgreSQL, tasks found too late
    to be started are buried in a second one. Claims take turns, so what one decides on is not changed by
    another; it waits for nobody else.
    """
    reach = reach_of(queues, tenant)
    with transaction.atomic():
        return _Claiming(dialect(), worker, limit, reach, lease, now, A_FEW * expects_few).run()


class _Claiming:
    """One claim: lanes are looked at, and into, until it is certain what comes next."""

    def __init__(
        self,
        db: Dialect,
        worker: UUID,
        limit: int,
        reach: Reach,
        lease: timedelta,
        now: datetime | None,
        heads: int,
    ) -> None:
        self.db, self.worker, self.limit, self.reach, self.lease = db, worker, limit, reach, lease
        self.pool = pool_of(reach)
        self.given_now = now
        self.width = _power_of_two(max(limit, FEWEST_LANES))
        self.read_ahead = heads
        pool = self.pool or Dispatch.EVERY_QUEUE
        self.turn = db.begin_claim(reach, self.width, now, pool, heads)
        self.now = self.turn.at
        self.reached = self.turn.reached if self.pool else stands_at(self.turn.lanes)
        self.switch = KillSwitch(tuple(self.turn.pauses))
        self.lanes: dict[int, LaneShare] = {}
        """Ready lanes, from the one that stands first on, without those that a pause covers."""
        self.passed = 0
        """Ready lanes that were looked at."""
        self.seen_until = -inf
        """In virtual time: lanes that were not looked at stand there or later. Infinite: there are none."""
        self.found: dict[int, list[Head]] = {}
        self.ends: dict[int, int] = {}
        """Lanes that have no more ready work than was found."""
        self.unsure: set[int] = set()
        """Lanes whose first thousand hold paused names: what lies beyond was not looked at."""

    def run(self) -> Claims:
        if self.switch.stops_everything:
            return Claims()
        self._see(self.turn.lanes, self.width)
        if self.read_ahead and self.turn.heads is not None:
            self._take_in(self.turn.heads, dict.fromkeys(self._plain(self.lanes), self.read_ahead))
        round_ = self._round()
        serving = self._serving(round_)
        if not serving.turns:
            return Claims(contended=bool(self.unsure))
        claims, is_done = self._start(round_, serving)
        return Claims(claims, contended=bool(self.unsure) or not is_done)

    def _round(self) -> Round:
        """Plan, look whether the lanes have what the plan asks of them, and plan again until they do."""
        while True:
            round_ = plan(self.lanes.values(), self.limit, self.reached, self.ends)
            wanting = {
                lane_id: count
                for lane_id, count in round_.counts.items()
                if lane_id not in self.ends and count > len(self.found.get(lane_id, ()))
            }
            if wanting:
                self._look(wanting)
            elif self._is_certain(round_):
                return round_
            else:
                self._see_more_lanes()

    def _is_certain(self, round_: Round) -> bool:
        """Whether no lane that was not looked at could come before the last one chosen."""
        if isinf(self.seen_until):
            return True
        is_full = len(round_.order) == self.limit
        return is_full and round_.reached <= max(self.seen_until, self.reached)

    def _see_more_lanes(self) -> None:
        width = max(self.width, self.passed)
        self._see(self.db.ready_lanes(self.reach, self.passed, width), width)

    def _see(self, lanes: Sequence[LaneShare], width: int) -> None:
        """Take in the next lanes, of at most so many."""
        paused = {lane.lane_id for lane in lanes if self.switch.stops_lane(lane)}
        held = self.db.hold_lanes(paused) if paused else 0
        self.lanes |= {lane.lane_id: lane for lane in lanes if lane.lane_id not in paused}
        self.passed += len(lanes) - held
        self.seen_until = lanes[-1].virtual_time if len(lanes) == width else inf

    def _look(self, wanting: dict[int, int]) -> None:
        plain = self._plain(wanting)
        if plain:
            counts = {lane_id: wanting[lane_id] for lane_id in plain}
            self._take_in(self.db.heads(counts, named=False), counts)
        for lane_id in wanting.keys() - plain:
            self._look_past_paused_names(self.lanes[lane_id])

    def _plain(self, lane_ids: Iterable[int]) -> set[int]:
        """Lanes in which no name is paused."""
        return {one for one in lane_ids if not self.switch.names_paused_in(self.lanes[one])}

    def _take_in(self, heads: Iterable[Head], counts: Mapping[int, int]) -> None:
        """What was found, of so many that were asked for in each lane."""
        found: dict[int, list[Head]] = {lane_id: [] for lane_id in counts}
        for head in heads:
            if head.lane_id in found:
                found[head.lane_id].append(head)
        self.found |= found
        for lane_id, count in counts.items():
            if len(found[lane_id]) < count:
                self.ends[lane_id] = len(found[lane_id])

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

    def _start(self, round_: Round, serving: Serving) -> tuple[list[Claim], bool]:
        """Lease what the round chose; whether nothing is left to look at.

        Tasks whose deadline has passed become dead letters instead.
        """
        queues = {lane_id: iter(heads) for lane_id, heads in self.found.items()}
        pairs = [(next(queues[lane_id]), self.lanes[lane_id]) for lane_id in round_.order]
        self.now, rows, are_retired = self.db.start(
            pairs, self.worker, self.lease, self.given_now, serving
        )
        started = {row.task_id: row for row in rows}
        late = [head.task_id for head, _ in pairs if head.task_id not in started]
        if late:
            bury(self.db, late, self.now)
        expires_at = self.now + self.lease
        claims = [
            self._claim(started[head.task_id], head, lane, expires_at)
            for head, lane in pairs
            if head.task_id in started
        ]
        return claims, are_retired and not late

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

    def _serving(self, round_: Round) -> Serving:
        """Where tenants and lanes are after the round, and the lanes of which it takes the last ready task."""
        counts = round_.counts
        empty = {lane_id for lane_id, end in self.ends.items() if counts[lane_id] >= end}
        empty -= self.unsure
        stood = {
            self.lanes[lane_id].tenant_id: self.lanes[lane_id].virtual_time for lane_id in empty
        }
        return Serving(
            pool=self.pool,
            reach=self.reach,
            reached=round_.reached,
            turns={**stood, **round_.turns},
            served_at=round_.served_at,
            empty=empty,
        )


def reach_of(queues: Collection[str] | None, tenant: Tenant | None) -> Reach:
    """Raises ValueError for a tenant's worker that names no queues: only Python workers serve all."""
    if queues is not None:
        return Reach(queues=frozenset(queues), tenant_id=tenant.pk if tenant else None)
    if tenant is not None:
        raise ValueError("A worker of one tenant names the queues it serves.")
    return Reach(apart=frozenset(conf().REMOTE_QUEUES))


def _power_of_two(least: int) -> int:
    """Few different widths: each is a statement of its own, which PostgreSQL prepares."""
    return 1 << (least - 1).bit_length()


def stands_at(lanes: Sequence[LaneShare]) -> float:
    """Where one tenant stands. Nobody is compared with it, so that is where dispatch is, too."""
    return max((lane.virtual_time for lane in lanes), default=0.0)


def pool_of(reach: Reach) -> str:
    """Names the kind of worker that serves these queues; empty for one tenant's. Long lists go by their digest."""
    if reach.tenant_id is not None:
        return ""
    if reach.queues is None:
        return Dispatch.EVERY_QUEUE
    name = ",".join(sorted(reach.queues))
    return name if len(name) <= POOL_LENGTH_MAX else sha256(name.encode()).hexdigest()
