"""Owns the way back, as long as there is one."""

from scheduling.ledger.moving.both import Both
from scheduling.ledger.moving.errors import CannotMove
from scheduling.ledger.moving.source import Sealing
from scheduling.ledger.moving.tables import NOTED_IN_PASSING
from scheduling.ledger.moving.target import Copy


def undo(both: Both) -> None:
    """Make the source a ledger that works again, and the target an empty one. Killed on the way, it may be called again.

    Raises CannotMove when anything happened in the target since the move, so that it would be lost; what is merely
    noted in passing, such as when somebody signed in last, is. Holds all tables of the target while it compares.
    """
    sealing = both.source.sealing()
    if sealing is None:
        require_undone(both.target.copy_in_it())
    elif there := both.the_copy_of(sealing):
        empty(both, sealing, there)
    elif sealing.is_begun:
        raise CannotMove(
            f"This ledger moves to {sealing.place}, and {both.target.place} holds nothing of it. Say --to with the "
            "one that does: it is looked at, and emptied, before this one works again."
        )
    if sealing:
        both.source.unseal()
    both.target.forget_what_is_undone()


def require_undone(copy: Copy | None) -> None:
    """The source works already, and the target need only be told."""
    if copy is None or copy.state != "undone":
        raise CannotMove("This ledger is not sealed: no move was begun, or it was undone.")


def empty(both: Both, sealing: Sealing, there: Copy) -> None:
    with both.target.held(both.tables):
        if there.state == "moved":
            compared = both.compare(apart_from=NOTED_IN_PASSING)
            if lost := [one.difference for one in compared if one.difference]:
                raise CannotMove(
                    f"{both.target.place} has been worked on since, and that would be lost: {lost[0]}. There is no "
                    "way back."
                )
        if there.state != "undone":
            both.target.empty(sealing.identity, both.tables, both.source.place)
