"""Settling: how attempts end, behind the fence.

A lease is ended by deleting its row under (task, generation, worker). Who finds no such row has lost it, and
nothing that it says changes anything; everyone else's outcome is written in the same transaction.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from scheduling.ledger.dialects import Dialect, Ending, LeaseEnded, Standing, Token, dialect
from scheduling.ledger.enqueue import place
from scheduling.ledger.minutes import minute_of
from scheduling.ledger.paces import timed
from scheduling.ledger.refuse import refuse
from scheduling.ledger.tally import tallies_of
from scheduling.ledger.values import Claim, Settled, Settlement, Settling, Stale, Succeed, Verdict
from scheduling.ledger.verdicts import decide
from scheduling.models import Attempt
from scheduling.states import Outcome, TaskState


@timed("settle")
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
    said = list({token_of(one.claim): one for one in settlements}.values())
    settled = _succeed(db, said, now)
    if settled is None:
        places = db.end_leases([token_of(one.claim) for one in said])
        now = now or db.now()
        settled = end(db, [(said[place].claim, said[place].verdict) for place in places], now)
    if len(settled) == len(said):
        return Settling(settled, [])
    done = {(one.task_id, one.generation) for one in settled}
    missed = {
        token_of(one.claim): one.verdict.outcome
        for one in said
        if (one.claim.task_id, one.claim.generation) not in done
    }
    repeated = already_settled(missed)
    stale = [token for token in missed if token not in repeated]
    refuse(stale, "settle", now or db.now())
    return Settling(
        [*settled, *repeated.values()],
        [Stale(task_id, generation) for task_id, generation, _ in stale],
    )


def _succeed(db: Dialect, said: Sequence[Settlement], now: datetime | None) -> list[Settled] | None:
    """The common batch, by the short way if there is one: one worker's, and nothing but successes."""
    worker = said[0].claim.worker
    results = [
        (one.claim.task_id, one.claim.generation, one.verdict.result_json)
        for one in said
        if isinstance(one.verdict, Succeed) and one.claim.worker == worker
    ]
    places = db.succeed(worker, results, now) if len(results) == len(said) else None
    if places is None:
        return None
    claims = [said[place].claim for place in places]
    return [Settled(claim.task_id, claim.generation, TaskState.SUCCEEDED) for claim in claims]


def end(db: Dialect, leases: Sequence[tuple[LeaseEnded, Verdict]], now: datetime) -> list[Settled]:
    """Write the ends of leases that were just deleted in this transaction.

    Where somebody deleted the task itself there is nothing to write: its lease goes, and holds nobody up.
    """
    if not leases:
        return []
    in_order = sorted(leases, key=lambda pair: pair[0].task_id.int)
    endings = [
        decide(lease, verdict, standing, now)
        for (lease, verdict), standing in zip(in_order, _standings(db, in_order), strict=True)
        if standing is not None
    ]
    db.finish(endings, now)
    _requeue(db, endings, now)
    _count(db, endings, now)
    return [
        Settled(ending.lease.task_id, ending.lease.generation, ending.state, ending.due_at)
        for ending in endings
    ]


def _standings(
    db: Dialect, leases: Sequence[tuple[LeaseEnded, Verdict]]
) -> Sequence[Standing | None]:
    """Successes need nothing of their tasks that the claims did not bring along.

    A mixed batch reads them all, because reading locks: some now and some later would be out of order.
    """
    brought = [
        Standing.as_claimed(lease)
        for lease, verdict in leases
        if isinstance(verdict, Succeed) and isinstance(lease, Claim)
    ]
    if len(brought) == len(leases):
        return brought
    ids = [lease.task_id for lease, _ in leases]
    read = db.standings(ids)
    return [read.get(task_id) for task_id in ids]


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
    finished = Counter(one.lease.tenant_id for one in endings if one.state.is_terminal)
    if finished:
        db.add_finished(finished)
    db.add_throughput(tallies_of(endings, now), minute_of(now))


def already_settled(missed: Mapping[Token, Outcome]) -> dict[Token, Settled]:
    """Of those without a lease: the ones that ended as this very worker says, in this very generation.

    A reaper ends leases in the name of their worker, as lost or released; that is no answer to a success.
    """
    if not missed:
        return {}
    attempts = Attempt.objects.filter(task__among=[task_id for task_id, _, _ in missed])
    return {
        token: Settled(attempt.task_id, attempt.generation, TaskState(attempt.task.state))
        for attempt in attempts.select_related("task")
        if missed.get(token := (attempt.task_id, attempt.generation, attempt.worker))
        == attempt.outcome
    }


def token_of(claim: Claim) -> Token:
    return (claim.task_id, claim.generation, claim.worker)
