"""Everything this process holds of the ledger, and what it has to say about it. Owned by the pool's thread."""

import logging
from collections.abc import Iterable
from uuid import UUID

from django.db import DataError, IntegrityError

from scheduling import ledger
from scheduling.ledger.values import Claim, Fail, Failure, Release, Settlement, Settling, Verdict
from scheduling.states import TaskState
from scheduling.workers import verdicts
from scheduling.workers.board import Board, Tally
from scheduling.workers.held import Held

logger = logging.getLogger(__name__)


class Hand:
    """Claims go in, verdicts follow, `settle` tells the ledger. A claim gets one verdict, the first.

    Other threads may call `held`, nothing else.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._free_places = list(range(board.places))
        self._held: set[Held] = set()
        self._concluded: dict[Held, Verdict] = {}
        self._zombies: set[Held] = set()
        """Their leases are lost, and their handlers have not ended."""
        self._some_settled_themselves = False
        """Since the last time that the ledger was told anything."""

    def held(self) -> tuple[Held, ...]:
        """Those without a verdict, in no order."""
        return tuple(self._held)

    def leased(self) -> list[Held]:
        """Everything that this process takes to be its own, and wants to keep."""
        return [*(held for held in self._held if held.wants_its_lease()), *self._concluded]

    def knows(self, task_id: UUID, generation: int) -> bool:
        return any(
            held.claim.task_id == task_id and held.claim.generation == generation
            for held in (*self._held, *self._concluded, *self._zombies)
        )

    def is_empty(self) -> bool:
        """Whether the process may end without owing the ledger a word."""
        return not self._held and not self._concluded

    def has_news(self) -> bool:
        """Whether there is anything to settle, or a handler has settled for itself."""
        return bool(self._concluded) or self._some_settled_themselves

    def room(self) -> int:
        """How many more it can hold; those it still has to settle take their places."""
        return len(self._free_places)

    def take(self, claim: Claim, *, claimed_at: float, lease_ends_at: float) -> Held:
        if claim.generation > 1:
            self._drop_older(claim)
        place = self._free_places.pop()
        held = Held(claim, place=place, claimed_at=claimed_at, lease_ends_at=lease_ends_at)
        self._held.add(held)
        return held

    def conclude(self, held: Held, verdict: Verdict) -> None:
        """What is said of a lease that was lost, or already concluded on, is not passed on.

        When a lease could not be renewed in time, the ledger is told so instead: it knows whether somebody
        else has the task by now, and then records a refusal.
        """
        if held in self._held:
            self._held.remove(held)
            if held.success:
                self._note_success(held)
                return
            lost = held.lease_lost.is_set()
            self._concluded[held] = verdicts.of_lost_lease(held.claim) if lost else verdict
        elif held in self._zombies:
            self._zombies.remove(held)
            self._board.count(Tally(refused=1))
            self._forget(held)

    def _note_success(self, held: Held) -> None:
        """The ledger knows already, so whatever is concluded now comes too late."""
        self._some_settled_themselves = True
        self._board.count(Tally(done=1))
        self._forget(held, held.success)

    def release(self, many: Iterable[Held]) -> None:
        """Hand back what was not started, or cannot be finished."""
        for held in many:
            held.handed_back = True
            self.conclude(held, Release())

    def drop(self, held: Held) -> None:
        """Another has the task: the handler is told, and what it will say is not passed on."""
        held.lose()
        if held in self._held:
            self._held.remove(held)
            self._zombies.add(held)
        elif self._concluded.pop(held, None) is not None:
            self._board.count(Tally(refused=1))
            self._forget(held)

    def _drop_older(self, claim: Claim) -> None:
        """A claim of a task that a zombie is still at here: the zombie has lost it."""
        for held in self.held():
            if held.claim.task_id == claim.task_id:
                self.drop(held)

    def settle(self) -> None:
        """Tell the ledger all there is to tell. After a DatabaseError all of it is still to be told."""
        self._some_settled_themselves = False
        if not self._concluded:
            return
        told = list(self._concluded.items())
        settling = self._tell(told)
        self._concluded.clear()
        stale = {(one.task_id, one.generation) for one in settling.stale}
        for held, verdict in told:
            is_stale = bool(stale) and (held.claim.task_id, held.claim.generation) in stale
            self._forget(held, None if is_stale else verdict)
        self._count(settling, {held.claim.task_id: verdict for held, verdict in told})

    def _tell(self, pairs: list[tuple[Held, Verdict]]) -> Settling:
        try:
            return ledger.settle([Settlement(held.claim, verdict) for held, verdict in pairs])
        except (DataError, IntegrityError) as error:
            return self._tell_apart(pairs, error)

    def _tell_apart(self, pairs: list[tuple[Held, Verdict]], error: Exception) -> Settling:
        """The database refuses what one of them says. It must not take the others with it."""
        if len(pairs) == 1:
            held, _ = pairs[0]
            logger.error("The ledger cannot store how %s ended: %s", held.claim.task_id, error)
            failure = Failure(
                "scheduling.errors.InvalidTask", f"Its outcome cannot be stored: {error}"
            )
            return ledger.settle([Settlement(held.claim, Fail(failure, retry_in=None))])
        parts = [self._tell([pair]) for pair in pairs]
        return Settling(
            [one for part in parts for one in part.settled],
            [one for part in parts for one in part.stale],
        )

    def _count(self, settling: Settling, said: dict[UUID, Verdict]) -> None:
        states = [one.state for one in settling.settled]
        retried = sum(
            one.state is TaskState.QUEUED and isinstance(said[one.task_id], Fail)
            for one in settling.settled
        )
        self._board.count(
            Tally(
                done=states.count(TaskState.SUCCEEDED),
                failed=states.count(TaskState.DEAD),
                retried=retried,
                refused=len(settling.stale),
            )
        )

    def _forget(self, held: Held, verdict: Verdict | None = None) -> None:
        """The ledger has been told that verdict. None: it has refused it, or would have."""
        if held.span is not None:
            held.span.end(verdict)
        self._board.clear(held.place)
        self._free_places.append(held.place)
