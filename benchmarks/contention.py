"""Eight clients that enqueue for one tenant at once, beside one client, and beside eight with a tenant each.

Each task is charged to its tenant's limits, which is where clients of one tenant meet. A worker claims
meanwhile: it must not be held up by who its tasks belong to.
"""

from dataclasses import dataclass
from typing import Any

from benchmarks.figures import Report, Row, at_least, at_most, percentile
from benchmarks.peers import OURS
from benchmarks.plan import Plan, say
from benchmarks.stage import Database, Stage

DATABASES = (Database.POSTGRESQL,)
CLIENTS = 8
LIMIT = 8
RATE = "enqueued/s"
CLAIM_P99, CLAIM_P50 = "claim p99, ms", "claim p50, ms"


@dataclass(frozen=True, slots=True)
class Crowd:
    """So many clients, for so many tenants."""

    name: str
    clients: int
    tenants: int


CROWDED = Crowd("one_tenant", CLIENTS, 1)
ONE_CLIENT = Crowd("one_client", 1, 1)
OWN_TENANTS = Crowd("own_tenants", CLIENTS, CLIENTS)
CROWDS = (CROWDED, ONE_CLIENT, OWN_TENANTS)


def run(plan: Plan) -> Report:
    found: dict[str, list[dict[str, float]]] = {crowd.name: [] for crowd in CROWDS}
    with Stage() as stage:
        for _ in plan.each_round():
            for crowd in CROWDS:
                measured = _measure(stage, plan, crowd)
                found[crowd.name].append(measured)
                say(f"{crowd.name}: " + ", ".join(f"{k} {v:,.3g}" for k, v in measured.items()))

    def each_round(crowd: Crowd, figure: str) -> list[float]:
        return [measured[figure] for measured in found[crowd.name]]

    def row(figure: str, rival: Crowd) -> Row:
        return Row(
            figure=figure,
            ours=each_round(CROWDED, figure),
            rival=rival.name,
            theirs=each_round(rival, figure),
            must=MUST.get((figure, rival.name)),
        )

    return Report(
        benchmark="contention",
        database=plan.database,
        rows=[
            row(RATE, ONE_CLIENT),
            row(CLAIM_P99, OWN_TENANTS),
            row(CLAIM_P50, OWN_TENANTS),
            row(RATE, OWN_TENANTS),
            row(CLAIM_P99, ONE_CLIENT),
        ],
    )


MUST = {
    (RATE, ONE_CLIENT.name): at_least(1),
    (CLAIM_P99, OWN_TENANTS.name): at_most(1.5),
}


def _measure(stage: Stage, plan: Plan, crowd: Crowd) -> dict[str, float]:
    seconds = plan.pick(full=8.0, quick=4.0, smoke=0.5)
    tenants = [f"tenant-{number % crowd.tenants}" for number in range(crowd.clients)]
    clients: list[tuple[str, dict[str, Any]]] = [
        ("benchmarks.acts.crowding:enqueue", {"seconds": seconds, "tenant": tenant})
        for tenant in tenants
    ]
    claimer = ("benchmarks.acts.crowding:claim", {"seconds": seconds, "limit": LIMIT})
    with stage.scene(plan.database, django_settings=OURS.django_settings) as scene:
        scene.play("benchmarks.peers.sending:prepare", peer=OURS.act, tenants=crowd.tenants)
        *counts, claim_ms = scene.play_together([*clients, claimer])
    return {
        RATE: sum(counts) / seconds,
        CLAIM_P99: percentile(claim_ms, 99),
        CLAIM_P50: percentile(claim_ms, 50),
    }
