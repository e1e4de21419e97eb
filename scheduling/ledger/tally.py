"""What a batch of ends adds to the throughput of its tenants. Pure."""

from collections.abc import Iterable
from datetime import datetime

from scheduling import spread
from scheduling.ledger.dialects import Ending, Tally
from scheduling.states import Outcome, TaskState


def tallies_of(endings: Iterable[Ending], now: datetime) -> dict[int, Tally]:
    """Per tenant."""
    grouped: dict[int, list[Ending]] = {}
    for ending in endings:
        grouped.setdefault(ending.lease.tenant_id, []).append(ending)
    return {tenant_id: _tally(its, now) for tenant_id, its in grouped.items()}


def _tally(endings: list[Ending], now: datetime) -> Tally:
    states = [ending.state for ending in endings]
    outcomes = [ending.outcome for ending in endings]
    leases = [ending.lease for ending in endings]
    waits = [max((one.acquired_at - one.due_at).total_seconds(), 0.0) for one in leases]
    runs = [max((now - one.acquired_at).total_seconds(), 0.0) for one in leases]
    return Tally(
        succeeded=states.count(TaskState.SUCCEEDED),
        retried=sum(one.due_at is not None and one.outcome.is_charged for one in endings),
        dead=states.count(TaskState.DEAD),
        cancelled=states.count(TaskState.CANCELLED),
        lost=outcomes.count(Outcome.LOST),
        ended=len(endings),
        wait_seconds=sum(waits),
        run_seconds=sum(runs),
        waited=spread.counts(waits),
        ran=spread.counts(runs),
    )
