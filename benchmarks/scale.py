"""Milliseconds of a claim and of a settlement, from a small ledger to one of millions of rows.

The near end has a thousand waiting tasks of one tenant; the far end a million of ten thousand tenants, with a
million due tomorrow, a million paused and five million finished beside them. Each claim is of eight tasks,
what one process has slots for. And the memory of the workers at both ends, while they are at work.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.figures import Report, Row, at_most, percentile
from benchmarks.peers import OURS
from benchmarks.plan import Plan, Size, say
from benchmarks.stage import Database, Scene, Stage
from benchmarks.watching import largest_mib

DATABASES = (Database.SQLITE, Database.POSTGRESQL)
SLOTS = 8
VERBS = ("claim", "settle")
MEMORY = "largest worker, MiB"
WORKING_SECONDS = 2.0

Times = dict[str, float]
"""By figure."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is in it before it is measured."""

    waiting: int
    tenants: int
    future: int = 0
    paused: int = 0
    finished: int = 0

    def __str__(self) -> str:
        return f"{self.waiting:,} waiting, {self.tenants:,} tenants"

    def parts(self) -> Iterator[tuple[str, int, int]]:
        """Act, number of the first row, rows."""
        first = 0
        for act in ("waiting", "future", "paused", "finished"):
            if count := getattr(self, act):
                yield act, first, count
                first += count


def run(plan: Plan) -> Report:
    near = plan.pick(full=Ledger(1_000, 1), quick=Ledger(1_000, 1), smoke=Ledger(100, 1))
    far = plan.pick(
        full=Ledger(1_000_000, 10_000, future=1_000_000, paused=1_000_000, finished=5_000_000),
        quick=Ledger(100_000, 1_000, future=50_000, paused=50_000, finished=100_000),
        smoke=Ledger(500, 50, future=100, paused=100, finished=200),
    )
    between = [
        Ledger(waiting, tenants)
        for waiting in (1_000, 100_000, 1_000_000)
        for tenants in (1, 100, 10_000)
        if (waiting, tenants) != (near.waiting, near.tenants)
    ]
    with Stage() as stage:
        cells = [
            row
            for ledger in plan.pick(full=between, quick=[], smoke=[])
            for row in _cell(stage, plan, ledger)
        ]
        ends = _ends(stage, plan, near, far)
    return Report(benchmark="scale", database=plan.database, rows=[*ends, *cells])


def _cell(stage: Stage, plan: Plan, ledger: Ledger) -> list[Row]:
    with _loaded(stage, plan, ledger) as scene:
        times = _time(scene, plan)
    return [Row(figure=f"{figure}; {ledger}", ours=[value]) for figure, value in times.items()]


def _ends(stage: Stage, plan: Plan, near: Ledger, far: Ledger) -> list[Row]:
    found: dict[str, list[Times]] = {"near": [], "far": []}
    with _loaded(stage, plan, near) as near_scene, _loaded(stage, plan, far) as far_scene:
        scenes = {"near": near_scene, "far": far_scene}
        for _ in plan.each_round():
            for end, scene in scenes.items():
                found[end].append(_time(scene, plan))
                say(f"{end}: " + ", ".join(f"{k} {v:.3g}" for k, v in found[end][-1].items()))
        _fill_up(near_scene, plan)
        memory = {end: _memory_of_workers(scene) for end, scene in scenes.items()}
    rows = [
        Row(
            figure=f"{figure}; far",
            ours=[times[figure] for times in found["far"]],
            rival="far_over_near",
            theirs=[times[figure] for times in found["near"]],
            must=at_most(1.5) if "p99" in figure else None,
            aim=at_most(1.2) if "p99" in figure else None,
        )
        for figure in found["near"][0]
    ]
    return [
        *rows,
        Row(
            figure=f"{MEMORY}; far",
            ours=[memory["far"]],
            rival="memory_far_over_near",
            theirs=[memory["near"]],
            must=at_most(1.1),
        ),
    ]


@contextmanager
def _loaded(stage: Stage, plan: Plan, ledger: Ledger) -> Iterator[Scene]:
    with stage.scene(plan.database, django_settings=OURS.django_settings) as scene:
        scene.play("benchmarks.acts.loading:prepare", tenants=ledger.tenants)
        for part, first, count in ledger.parts():
            say(f"loading {count:,} {part}")
            scene.play(f"benchmarks.acts.loading:{part}", first=first, count=count)
        scene.play("benchmarks.acts.loading:complete")
        if plan.size is Size.SMOKE:
            scene.play("benchmarks.acts.ledger:check_invariants")
        yield scene


def _time(scene: Scene, plan: Plan) -> Times:
    count = plan.pick(full=500, quick=300, smoke=5)
    found = scene.play("benchmarks.acts.claiming:time_verbs", count=count, limit=SLOTS)
    return {
        f"{verb} p{percent}, ms": percentile(found[verb], percent)
        for percent in (99, 50)
        for verb in VERBS
    }


def _fill_up(scene: Scene, plan: Plan) -> None:
    """Give the workers more than they get through while they are looked at: who waits for work holds less."""
    count = plan.pick(full=100_000, quick=100_000, smoke=100)
    scene.play("benchmarks.acts.loading:more", count=count)


def _memory_of_workers(scene: Scene) -> float:
    """After they have worked for a while."""
    with scene.playing(f"{OURS.act}:work") as workers:
        scene.wait_for_starts(1, workers, seconds=60)
        time.sleep(WORKING_SECONDS)
        return largest_mib(workers.pid)
