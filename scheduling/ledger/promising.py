"""Owns the question whether a claim is worth its while, asked for many who wait, before any of them claims."""

from collections.abc import Collection, Sequence

from scheduling.ledger.dialects import LaneShare, Reach, dialect

MOST = 200
"""Lanes that are looked at together."""


def promising(reaches: Collection[Reach]) -> set[Reach]:
    """Of reaches that name their queues, those in which a claim may find something: none that would is left out.

    One read for all of them, and one for each only while very many lanes are ready; no transaction, no lock.
    Work that is paused counts until the first claim that meets it sets it aside.
    """
    db = dialect()
    queues = frozenset[str]().union(*(reach.queues or () for reach in reaches))
    lanes = db.ready_lanes(Reach(queues=queues), 0, MOST)
    if len(lanes) < MOST:
        return {reach for reach in reaches if may_find(reach, lanes)}
    return {reach for reach in reaches if may_find(reach, db.ready_lanes(reach, 0, MOST))}


def may_find(reach: Reach, lanes: Sequence[LaneShare]) -> bool:
    """Among the first `MOST` ready lanes, or in one that comes after them."""
    return len(lanes) == MOST or any(
        (lane.room is None or lane.room > 0)
        and reach.tenant_id in (None, lane.tenant_id)
        and lane.queue in (reach.queues or ())
        for lane in lanes
    )
