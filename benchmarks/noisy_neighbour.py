"""Milliseconds a quiet tenant's tasks wait for their start, while another tenant floods the ledger.

Beside the quiet tenant alone, and beside first in, first out, which is what one lane for both comes to.
"""

from dataclasses import dataclass, field
from typing import Any

from benchmarks.figures import Report, Row, at_most, percentile
from benchmarks.peers import OURS
from benchmarks.plan import Plan, say
from benchmarks.props import Start
from benchmarks.stage import Database, Stage

DATABASES = (Database.SQLITE, Database.POSTGRESQL)
FOUR_SLOTS = ("--processes", "2", "--threads", "2")
TASK_SECONDS = 0.005
BEAT_SECONDS = 0.05
LOUD, QUIET = "tenant-0", "tenant-1"
LOUD_NUMBER = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """Under which the quiet tenant is measured."""

    name: str
    is_flooded: bool = True
    lane_of: str = QUIET
    """Whose lane its tasks go to."""
    limits: dict[str, Any] = field(default_factory=dict)
    """Of the loud tenant."""


FLOODED = Condition("flooded")
ALONE = Condition("alone", is_flooded=False)
FIFO = Condition("fifo", lane_of=LOUD)
CAPPED = Condition("capped", limits={"max_in_flight": 2})
CONDITIONS = (FLOODED, ALONE, FIFO, CAPPED)


def run(plan: Plan) -> Report:
    waits: dict[str, list[list[float]]] = {one.name: [] for one in CONDITIONS}
    with Stage() as stage:
        for _ in plan.each_round():
            for condition in CONDITIONS:
                found = _measure(stage, plan, condition)
                waits[condition.name].append(found)
                say(f"{condition.name}: p50 {percentile(found, 50):.3g} ms")

    def each_round(condition: Condition, percent: float) -> list[float]:
        return [percentile(found, percent) for found in waits[condition.name]]

    flooded = {percent: each_round(FLOODED, percent) for percent in (50, 99)}
    return Report(
        benchmark="noisy_neighbour",
        database=plan.database,
        rows=[
            Row(
                figure="p99, ms",
                ours=flooded[99],
                rival="alone",
                theirs=each_round(ALONE, 99),
                must=at_most(3),
                aim=at_most(1.5),
            ),
            Row(figure="p99, ms", ours=flooded[99], rival="fifo", theirs=each_round(FIFO, 99)),
            Row(figure="p99, ms", ours=flooded[99], must=at_most(30)),
            Row(figure="p50, ms", ours=flooded[50], rival="alone", theirs=each_round(ALONE, 50)),
            Row(figure="p50, ms", ours=flooded[50], rival="fifo", theirs=each_round(FIFO, 50)),
            Row(
                figure="p99, the loud one capped at 2, ms",
                ours=each_round(CAPPED, 99),
                rival="alone",
                theirs=each_round(ALONE, 99),
            ),
            Row(
                figure="p50, the loud one capped at 2, ms",
                ours=each_round(CAPPED, 50),
                rival="alone",
                theirs=each_round(ALONE, 50),
            ),
        ],
    )


def _measure(stage: Stage, plan: Plan, condition: Condition) -> list[float]:
    """The waits of the quiet tenant's tasks, in milliseconds, all sent while the flood lasts."""
    flood = plan.pick(full=20_000, quick=4_000, smoke=300)
    sent = plan.pick(full=400, quick=70, smoke=5)
    patience = flood * TASK_SECONDS + 60
    acts: list[tuple[str, dict[str, Any]]] = [
        ("send", {"count": sent, "every_seconds": BEAT_SECONDS, "tenant": condition.lane_of}),
        ("flood", {"count": flood * condition.is_flooded, "task_seconds": TASK_SECONDS}),
    ]
    with stage.scene(plan.database, django_settings=OURS.django_settings) as scene:
        scene.play("benchmarks.acts.neighbours:prepare", **condition.limits)
        with scene.playing(f"{OURS.act}:work", arguments=FOUR_SLOTS) as workers:
            scene.play("benchmarks.peers.sending:warm_up", peer=OURS.act)
            scene.wait_for_starts(1, workers, seconds=60)
            scene.play_together(
                [(f"benchmarks.acts.neighbours:{act}", given) for act, given in acts]
            )
            starts = scene.wait_for_numbers(LOUD_NUMBER + 1, sent, workers, seconds=patience)
    quiet = _quiet(starts)
    if len(quiet) < sent:
        raise RuntimeError(f"Of {sent} tasks of the quiet tenant only {len(quiet)} ever started.")
    if condition.is_flooded:
        _check_that_it_lasted(starts, quiet)
    return [start.waited_ms for start in quiet]


def _quiet(starts: list[Start]) -> list[Start]:
    return [start for start in starts if start.number > LOUD_NUMBER]


def _check_that_it_lasted(starts: list[Start], quiet: list[Start]) -> None:
    """Raises RuntimeError when the loud tenant's backlog was gone before the quiet one had sent all."""
    last_loud = max((one.started_at for one in starts if one.number == LOUD_NUMBER), default=0.0)
    if last_loud < max(one.sent_at for one in quiet):
        raise RuntimeError("The flood was over too soon: what was measured was no flood.")
