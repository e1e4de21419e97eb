"""Tasks accepted per second by one client, from Python: one call for each, and 500 in a call.

Ours with limits and idempotency keys on, which the peers do not have.
"""

from functools import partial

from benchmarks import peers
from benchmarks.contest import Bar, Contest, scene_for
from benchmarks.figures import Bound, Report, Row, at_least
from benchmarks.peers import OURS, Peer
from benchmarks.plan import Plan
from benchmarks.stage import Database, Stage

DATABASES = (Database.SQLITE, Database.POSTGRESQL)
BATCH = 500
ONE_BY_ONE = "one by one, tasks/s"
BULK = "500 in a call, tasks/s"
BULK_UNKEYED = "500 in a call, no keys, tasks/s"

BARS: dict[Database, list[Bar]] = {
    Database.SQLITE: [
        (peers.HUEY, ONE_BY_ONE, at_least(0.8), at_least(1)),
        (peers.DJANGO_TASKS_DB, ONE_BY_ONE, at_least(1.8), None),
        (peers.CELERY, ONE_BY_ONE, None, None),
        (peers.PGQUEUER, BULK, at_least(1.1), None),
    ],
    Database.POSTGRESQL: [
        (peers.OBAN, ONE_BY_ONE, at_least(1), None),
        (peers.PGQUEUER, BULK, None, None),
        (peers.PGQUEUER, ONE_BY_ONE, None, None),
        (peers.OBAN, BULK, None, None),
        (peers.PROCRASTINATE, ONE_BY_ONE, None, None),
        (peers.DJANGO_TASKS_DB, ONE_BY_ONE, None, None),
    ],
}
ABSOLUTE: dict[Database, tuple[Bound | None, Bound | None]] = {
    Database.SQLITE: (at_least(60_000), at_least(100_000)),
    Database.POSTGRESQL: (None, None),
}


def run(plan: Plan) -> Report:
    bars = BARS[plan.database]
    rivals = list(dict.fromkeys(peer for peer, _, _, _ in bars))
    contest = Contest(one_setting=True)
    with Stage() as stage:
        contest.hold(plan, rivals, partial(_enqueue, stage, plan))
    must, aim = ABSOLUTE[plan.database]
    rows = [
        *contest.rows(bars),
        Row(figure=ONE_BY_ONE, ours=contest.ours(ONE_BY_ONE)),
        Row(figure=BULK, ours=contest.ours(BULK), must=must, aim=aim),
        Row(figure=BULK_UNKEYED, ours=contest.ours(BULK_UNKEYED)),
    ]
    return Report(benchmark="enqueue", database=plan.database, rows=rows, notes=contest.notes())


def _enqueue(stage: Stage, plan: Plan, peer: Peer, setting: str) -> dict[str, float]:
    """Each figure on tables of its own, so that none is measured on what another one left."""
    singles = plan.pick(full=5_000, quick=1_000, smoke=50)
    many = plan.pick(full=100_000, quick=20_000, smoke=1_000)
    keyed = {"keyed": True} if peer is OURS else {}
    found = {ONE_BY_ONE: _rate(stage, plan, peer, "one_by_one", count=singles, **keyed)}
    if peer.has_bulk:
        found[BULK] = _rate(stage, plan, peer, "in_bulk", count=many, batch=BATCH, **keyed)
    if peer is OURS:
        found[BULK_UNKEYED] = _rate(stage, plan, peer, "in_bulk", count=many, batch=BATCH)
    return found


def _rate(stage: Stage, plan: Plan, peer: Peer, act: str, **given: int | bool) -> float:
    with scene_for(peer, plan, stage) as scene:
        return float(scene.play(f"benchmarks.peers.sending:{act}", peer=peer.act, **given))
