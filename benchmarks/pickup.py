"""Milliseconds from enqueueing in one process to the start of the handler in another, on an idle system.

And what waiting costs: the processor time of workers that have nothing to do.
"""

import time
from functools import partial

from benchmarks import peers
from benchmarks.contest import Bar, Contest, scene_for, workers_of
from benchmarks.figures import Report, Row, at_most, percentile
from benchmarks.peers import OURS, Peer
from benchmarks.plan import Plan
from benchmarks.stage import Database, Stage
from benchmarks.watching import busiest_percent

DATABASES = (Database.SQLITE, Database.POSTGRESQL)
P50, P99 = "p50, ms", "p99, ms"
IDLE_CPU = "idle worker, % of a core"
SETTLED_SECONDS = 1.0

CELERY: list[Bar] = [(peers.CELERY, P50, at_most(1.2), None), (peers.CELERY, P99, None, None)]
OTHERS: dict[Database, tuple[Peer, ...]] = {
    Database.SQLITE: (peers.HUEY, peers.DJANGO_TASKS_DB),
    Database.POSTGRESQL: (peers.OBAN, peers.PGQUEUER, peers.PROCRASTINATE),
}


def run(plan: Plan) -> Report:
    others = OTHERS[plan.database]
    contest = Contest(one_setting=True)
    with Stage() as stage:
        contest.hold(plan, [peers.CELERY, *others], partial(_wait, stage, plan))
    bars = CELERY + [(peer, figure, None, None) for peer in others for figure in (P50, P99)]
    return Report(
        benchmark="pickup",
        database=plan.database,
        rows=[
            *contest.rows(bars, highest=False),
            Row(figure=P50, ours=contest.ours(P50), must=at_most(3), aim=at_most(1.5)),
            Row(figure=P99, ours=contest.ours(P99)),
            Row(figure=IDLE_CPU, ours=contest.ours(IDLE_CPU), must=at_most(1)),
        ],
        notes=contest.notes(),
    )


def _wait(stage: Stage, plan: Plan, peer: Peer, setting: str) -> dict[str, float]:
    count = plan.pick(full=300, quick=60, smoke=10)
    every = plan.pick(full=0.1, quick=0.05, smoke=0.05)
    found = {}
    with scene_for(peer, plan, stage) as scene, workers_of(peer, setting, scene) as workers:
        scene.play("benchmarks.peers.sending:warm_up", peer=peer.act)
        scene.wait_for_starts(1, workers[0], seconds=60)
        time.sleep(SETTLED_SECONDS)
        if peer is OURS:
            seconds = plan.pick(full=10.0, quick=3.0, smoke=0.5)
            found[IDLE_CPU] = busiest_percent(workers[0].pid, seconds)
        scene.play(
            "benchmarks.peers.sending:trickle", peer=peer.act, count=count, every_seconds=every
        )
        starts = scene.wait_for_starts(count + 2, workers[0], seconds=10)
    waits = [start.waited_ms for start in starts if start.number > 0]
    if len(waits) < count:
        raise RuntimeError(f"Of {count} tasks of {peer.name} only {len(waits)} ever started.")
    return found | {P50: percentile(waits, 50), P99: percentile(waits, 99)}
