"""Tasks per second: a backlog of no-op tasks of ten tenants, drained by the default workers.

Everybody starts from the same backlog with every commit on disk; what a slow peer does not get through in
its time is not waited for. Ours must in the end have written the whole history, and kept every invariant.
"""

from functools import partial

from benchmarks import peers
from benchmarks.contest import Bar, Contest, scene_for, workers_of
from benchmarks.figures import Report, Row, at_least, drain_rate
from benchmarks.peers import OURS, Peer
from benchmarks.plan import Plan
from benchmarks.stage import Database, Stage

DATABASES = (Database.SQLITE, Database.POSTGRESQL)
TENANTS = 10
BATCH = 500
RATE = "tasks/s"

BARS: dict[Database, list[Bar]] = {
    Database.SQLITE: [
        (peers.HUEY, RATE, at_least(3), at_least(4)),
        (peers.CELERY, RATE, at_least(8), at_least(12)),
        (peers.DJANGO_TASKS_DB, RATE, at_least(15), at_least(25)),
    ],
    Database.POSTGRESQL: [
        (peers.OBAN, RATE, at_least(2.5), at_least(4)),
        (peers.PGQUEUER, RATE, at_least(0.7), at_least(1.2)),
        (peers.PROCRASTINATE, RATE, None, None),
    ],
}


def run(plan: Plan) -> Report:
    bars = BARS[plan.database]
    contest = Contest()
    with Stage() as stage:
        contest.hold(plan, [peer for peer, *_ in bars], partial(_drain, stage, plan))
    best = {peer.name: contest.best(peer, RATE) for peer, *_ in bars}
    return Report(
        benchmark="throughput",
        database=plan.database,
        rows=[*contest.rows(bars), Row(figure=RATE, ours=contest.ours(RATE))],
        notes=[
            *(f"{name} at its best: {found[0]}." for name, found in best.items() if found),
            *contest.notes(),
        ],
    )


def _drain(stage: Stage, plan: Plan, peer: Peer, setting: str) -> dict[str, float]:
    count = plan.pick(full=20_000, quick=5_000, smoke=200)
    seconds = plan.pick(full=20.0, quick=5.0, smoke=10.0)
    options = {"tenants": TENANTS} if peer is OURS else {}
    with scene_for(peer, plan, stage, **options) as scene:
        scene.play(
            "benchmarks.peers.sending:fill", peer=peer.act, count=count, batch=BATCH, **options
        )
        with workers_of(peer, setting, scene) as workers:
            scene.wait_for_starts(1, workers[0], seconds=60)
            starts = scene.wait_for_starts(count, workers[0], seconds=seconds)
            if peer is OURS:
                scene.play("benchmarks.acts.ledger:wait_until_settled", count=count)
    return {RATE: drain_rate([start.started_at for start in starts])}
