"""Settling: how attempts end, behind the fence.

A lease is ended by deleting its row under (task, generation, worker). Who finds no such row has lost it, and
nothing that it says changes anything; everyone else's outcome is written in the same transaction.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from scheduling.ledger.dialects import Dialect, Ended, Ending, Standing, Token, dialect
from scheduling.ledger.enqueue import place
from scheduling.ledger.minutes import minute_of
from scheduling.ledger.refuse import refuse
from scheduling.ledger.tally import tallies_of
from scheduling.ledger.values import Claim, Settled, Settlement, Settling, Stale, Succeed, Verdict
from scheduling.ledger.verdicts import decide
from scheduling.models import Attempt
from scheduling.states import TaskState


def settle(settlements: Sequence[Settlement], *, now: datetime | None = None) -> Settling:
    """End each claim with its verdict. Those whose lease is no longer theirs are refused and recorded.

    One transaction for the batch; a stale one does not disturb the others. Saying again what was already
    settled, by the same worker (whose first answer got lost), is answered as settled.
    """
    if not settlements:
        return Settling([], [])
    with transaction.atomic():
        return _settle(dialect(), settlements, now)


def _settle(db: Dialect, settlements: Sequence[Settlement], now: datetime | None) -> Settling:
    verdicts = {token_of(one.claim): one for one in settlements}
    ended = {token_of_ended(lease): lease for lease in db.end_leases(list(verdicts))}
    now = now or db.now()
    settled = end(
        db,
        [(lease, verdicts[token].verdict) for token, lease in ended.items()],
        now,
        claims={lease.task_id: verdicts[token].claim for token, lease in ended.items()},
    )
    done = {one.task_id for one in settled}
    missed = [one for token, one in verdicts.items() if token not in ended or token[0] not in done]
    if not missed:
        return Settling(settled, [])
    repeated = _already_settled(missed)
    stale = [one.claim for one in missed if token_of(one.claim) not in repeated]
    refuse(stale, "settle", now)
    return Settling(
        [*settled, *repeated.values()],
        [Stale(claim.task_id, claim.generation) for claim in stale],
    )


def end(
    db: Dialect,
    leases: Sequence[tuple[Ended, Verdict]],
    now: datetime,
    *,
    claims: Mapping[UUID, Claim] | None = None,
) -> list[Settled]:
    """Write the ends of leases that were just deleted in this transaction.

    Where somebody deleted the task itself there is nothing to write: its lease goes, and holds nobody up.
    """
    if not leases:
        return []
    standings = _standings(db, leases, claims or {})
    endings = [
        decide(lease, verdict, standings[lease.task_id], now)
        for lease, verdict in sorted(leases, key=lambda pair: pair[0].task_id)
        if lease.task_id in standings
    ]
    db.finish(endings, now)
    _requeue(db, endings, now)
    _count(db, endings, now)
    return [
        Settled(ending.lease.task_id, ending.lease.generation, ending.state, ending.due_at)
        for ending in endings
    ]


def _standings(
    db: Dialect, leases: Sequence[tuple[Ended, Verdict]], claims: Mapping[UUID, Claim]
) -> Mapping[UUID, Standing]:
    """Successes need nothing of their tasks that the claims did not bring along.

    A mixed batch reads them all, because reading locks: some now and some later would be out of order.
    """
    ids = [lease.task_id for lease, _ in leases]
    if claims and all(isinstance(verdict, Succeed) for _, verdict in leases):
        return {task_id: Standing.as_claimed(claims[task_id]) for task_id in ids}
    return db.standings(sorted(ids))


def _requeue(db: Dialect, endings: Sequence[Ending], now: datetime) -> None:
    waiting = [ending for ending in endings if ending.due_at is not None]
    if waiting:
        db.share_lane_ids({ending.lease.lane_id for ending in waiting})
        place(
            db,
            [
                (ending.lease.task_id, ending.lease.lane_id, ending.priority, ending.due_at)
                for ending in waiting
                if ending.due_at is not None
            ],
            now,
        )


def _count(db: Dialect, endings: Sequence[Ending], now: datetime) -> None:
    finished: dict[int, int] = {}
    for ending in endings:
        if ending.state.is_terminal:
            tenant_id = ending.lease.tenant_id
            finished[tenant_id] = finished.get(tenant_id, 0) + 1
    if finished:
        db.add_finished(dict(sorted(finished.items())))
    db.add_throughput(tallies_of(endings, now), minute_of(now))


def _already_settled(missed: Sequence[Settlement]) -> dict[Token, Settled]:
    """Of those without a lease: the ones that ended as this very worker says, in this very generation.

    A reaper ends leases in the name of their worker, as lost or released; that is no answer to a success.
    """
    said = {token_of(one.claim): one.verdict.outcome for one in missed}
    attempts = Attempt.objects.filter(task__in=[one.claim.task_id for one in missed])
    return {
        token: Settled(attempt.task_id, attempt.generation, TaskState(attempt.task.state))
        for attempt in attempts.select_related("task")
        if said.get(token := (attempt.task_id, attempt.generation, attempt.worker))
        == attempt.outcome
    }


def token_of(claim: Claim) -> Token:
    return (claim.task_id, claim.generation, claim.worker)


def token_of_ended(lease: Ended) -> Token:
    return (lease.task_id, lease.generation, lease.worker)
