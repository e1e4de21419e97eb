"""Shares of 1, 10 and 1,000 tenants with weights 1, 2 and 4 whose backlogs follow Zipf's law.

Counted claim by claim, in the order in which tasks are to be started, so no clock has a part in it.
"""

from benchmarks.figures import Report, Row, at_least, at_most
from benchmarks.peers import OURS
from benchmarks.plan import Plan, say
from benchmarks.stage import Database, Stage

DATABASES = (Database.SQLITE, Database.POSTGRESQL)
LIMIT = 8
"""Tasks in a claim: the slots of one worker process."""


def run(plan: Plan) -> Report:
    crowds = plan.pick(full=(1_000, 10, 1), quick=(1_000, 10, 1), smoke=(5, 1))
    found: dict[int, list[dict[str, float]]] = {crowd: [] for crowd in crowds}
    with Stage() as stage:
        for _ in plan.each_round():
            for crowd in crowds:
                found[crowd].append(_measure(stage, plan, crowd))
                say(f"{_called(crowd)}: {found[crowd][-1]}")
    jain = [
        Row(
            figure=f"Jain's index; {_called(crowd)}",
            ours=[measured["jain"] for measured in found[crowd]],
            must=at_least(0.99),
        )
        for crowd in crowds
    ]
    newcomers = [
        Row(
            figure=f"longest wait of a newcomer, rounds; {_called(crowd)}",
            ours=[measured["newcomer_rounds"] for measured in found[crowd]],
            must=at_most(1),
        )
        for crowd in crowds
    ]
    return Report(benchmark="fairness", database=plan.database, rows=[*jain, *newcomers])


def _called(crowd: int) -> str:
    return f"{crowd:,} tenant{'s' * (crowd > 1)}"


def _measure(stage: Stage, plan: Plan, tenants: int) -> dict[str, float]:
    """Fewer rounds of a larger crowd: a round of a thousand tenants is 2,333 tasks."""
    rounds = plan.pick(full=20, quick=3, smoke=3) if tenants >= 100 else 50
    newcomers = plan.pick(full=7, quick=2, smoke=2)
    with stage.scene(plan.database, django_settings=OURS.django_settings) as scene:
        measured: dict[str, float] = scene.play(
            "benchmarks.acts.shares:measure",
            tenants=tenants,
            rounds=rounds,
            limit=LIMIT,
            newcomers=newcomers,
        )
    return measured
