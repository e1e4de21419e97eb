"""Processes that write to one SQLite file at once: rates, waits and shares, with the write gate and without.

Each commits five rows at a time with a millisecond in between, and at saturation with none.
"""

from dataclasses import dataclass

from benchmarks.figures import Report, Row, at_most, percentile
from benchmarks.peers import OURS
from benchmarks.plan import Plan, say
from benchmarks.stage import Database, Stage

DATABASES = (Database.SQLITE,)
UNGATED = "ungated"
P99, P50, WORST = "p99, ms", "p50, ms", "worst wait, ms"
RATE = "transactions/s"
UNEVEN = "unevenness of shares"
"""How far the process with most, or with least, is from an equal share: 0.1 is ten percent."""
MUST = {P99: at_most(5), WORST: at_most(50), UNEVEN: at_most(0.1)}

Measured = dict[str, float]


@dataclass(frozen=True, slots=True)
class Case:
    """So many processes, with such a pause between their transactions."""

    processes: int
    pause_seconds: float = 0.001

    def __str__(self) -> str:
        pause = "" if self.pause_seconds else ", no pause"
        return f"{self.processes} process{'es' * (self.processes > 1)}{pause}"


JUDGED = Case(8)
CASES = (Case(1), Case(2), Case(4), JUDGED, Case(4, pause_seconds=0))


def run(plan: Plan) -> Report:
    gated: dict[Case, list[Measured]] = {case: [] for case in CASES}
    ungated: dict[Case, list[Measured]] = {case: [] for case in CASES}
    with Stage() as stage:
        for _ in plan.each_round():
            for case in CASES:
                for is_gated, found in ((True, gated), (False, ungated)):
                    found[case].append(_measure(stage, plan, case, gated=is_gated))
                    say(f"{case}, {'gated' if is_gated else UNGATED}: {_told(found[case][-1])}")
    judged = [row for figure in gated[JUDGED][0] for row in _judged(figure, gated, ungated)]
    others = [
        _compared(case, figure, gated, ungated)
        for case in CASES
        if case != JUDGED
        for figure in gated[case][0]
        if figure != UNEVEN or case.processes > 1
    ]
    return Report(benchmark="writers", database=plan.database, rows=[*judged, *others])


def _measure(stage: Stage, plan: Plan, case: Case, *, gated: bool) -> Measured:
    given = {
        "seconds": plan.pick(full=5.0, quick=2.0, smoke=0.3),
        "pause_seconds": case.pause_seconds,
        "gated": gated,
    }
    with stage.scene(plan.database, django_settings=OURS.django_settings) as scene:
        scene.play("benchmarks.acts.writing:prepare")
        took = scene.play_together([("benchmarks.acts.writing:commit", given)] * case.processes)
    waits = [wait for one in took for wait in one]
    equal = len(waits) / len(took)
    return {
        P99: percentile(waits, 99),
        P50: percentile(waits, 50),
        WORST: max(waits),
        UNEVEN: max(abs(len(one) - equal) / equal for one in took),
        RATE: len(waits) / given["seconds"],
    }


def _judged(
    figure: str, gated: dict[Case, list[Measured]], ungated: dict[Case, list[Measured]]
) -> list[Row]:
    """The figure beside the one without the gate, and what it must be by itself."""
    row = _compared(JUDGED, figure, gated, ungated)
    if figure not in MUST:
        return [row]
    return [row, Row(figure=row.figure, ours=row.ours, must=MUST[figure])]


def _compared(
    case: Case, figure: str, gated: dict[Case, list[Measured]], ungated: dict[Case, list[Measured]]
) -> Row:
    return Row(
        figure=f"{figure}; {case}",
        ours=[found[figure] for found in gated[case]],
        rival=UNGATED,
        theirs=[found[figure] for found in ungated[case]],
    )


def _told(found: Measured) -> str:
    return ", ".join(f"{figure} {value:.3g}" for figure, value in found.items())
