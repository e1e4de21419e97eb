"""Who is served how often when everybody waits, and how soon somebody who comes new."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID, uuid4

from django.core.management import call_command

from benchmarks.figures import jain
from benchmarks.peers.ours import create_tenant, slug
from scheduling import ledger
from scheduling.ledger.values import Claim, NewTask, Settlement, Succeed
from tenants.models import Tenant

WEIGHTS = (1, 2, 4)
BATCH = 1000


class Dispatch:
    """Claims and settles, batch after batch, in the order in which workers would start the tasks."""

    def __init__(self, limit: int) -> None:
        self._worker = uuid4()
        self._limit = limit

    def serve(self, count: int) -> list[Claim]:
        """The next tasks, in order. Raises RuntimeError when there are not so many."""
        served: list[Claim] = []
        while len(served) < count:
            claims = ledger.claim(self._worker, limit=min(self._limit, count - len(served))).claims
            if not claims:
                raise RuntimeError(f"Only {len(served)} of {count} tasks were to be had.")
            ledger.settle([Settlement(claim, Succeed()) for claim in claims])
            served += claims
        return served


def measure(tenants: int, rounds: int, limit: int, newcomers: int) -> dict[str, float]:
    """Jain's index of what each tenant got for its weight, and the longest wait of a newcomer, in rounds.

    A round is one task for each unit of weight. Backlogs follow Zipf's law, and the shortest lasts.
    """
    call_command("migrate", verbosity=0)
    crowd = [create_tenant(slug(n), weight=WEIGHTS[n % len(WEIGHTS)]) for n in range(tenants)]
    per_round = sum(tenant.weight for tenant in crowd)
    rounds_in_all = rounds + newcomers * 2 + 2
    for rank, tenant in enumerate(crowd, start=1):
        _enqueue(tenant, rounds_in_all * tenant.weight + rounds_in_all * tenants // rank)
    dispatch = Dispatch(limit)
    got = Counter(claim.tenant_id for claim in dispatch.serve(rounds * per_round))
    return {
        "jain": jain([got[tenant.pk] / tenant.weight for tenant in crowd]),
        "newcomer_rounds": max(_wait_of_newcomer(n, per_round, dispatch) for n in range(newcomers)),
    }


def _wait_of_newcomer(number: int, per_round: int, dispatch: Dispatch) -> float:
    """How many rounds of others' tasks are served before its first one. It comes when a round is under way."""
    dispatch.serve(1 + number * per_round // 7 % per_round)
    newcomer = create_tenant(f"newcomer-{number}")
    [task] = _enqueue(newcomer, 1)
    others = [claim.task_id for claim in dispatch.serve(per_round + 2)]
    if task not in others:
        raise RuntimeError(f"Newcomer {number} was not served within a round and two tasks.")
    return others.index(task) / (per_round + newcomer.weight)


def _enqueue(tenant: Tenant, count: int) -> Sequence[UUID]:
    task = NewTask(tenant_id=tenant.pk, name="benchmarks.tasks.noop", args_json="[0, 0.0]")
    return [
        accepted.task_id
        for first in range(0, count, BATCH)
        for accepted in ledger.enqueue([task] * min(BATCH, count - first))
    ]
