"""Keeps the leases of this process alive: all of them in one batch, every third of their length."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from uuid import UUID

from scheduling import clock, ledger
from scheduling.ledger.values import Renewal
from scheduling.workers.hand import Hand
from scheduling.workers.held import Held


class Heart:
    """Beats in the pool's thread, before anything else there.

    A thread and a connection of its own would not make it steadier: what delays the pool, a database that
    does not answer or handlers that keep the interpreter busy, delays every thread, and the ledger then
    needs no second writer to say so. A handler whose lease runs out meanwhile is told by the watch.
    """

    def __init__(self, hand: Hand, lease: timedelta) -> None:
        self.due_at = 0.0
        self._hand = hand
        self._lease = lease

    def beat_now(self) -> None:
        """Somebody was asked to stop, and renewing tells who."""
        self.due_at = 0.0

    def run(self) -> None:
        """Renew everything held, and tell how far it has come; drop what is not ours any more, and pass on who
        is asked to stop."""
        asked_at = clock.monotonic()
        leased = self._hand.leased()
        if leased:
            news = {held: said for held in leased if (said := held.news())}
            renewal = ledger.renew(
                [held.claim for held in leased],
                lease=self._lease,
                progress={held.claim.task_id: said for held, said in news.items()},
            )
            for held, said in news.items():
                held.passed_on = said
            self._heed(renewal, leased, asked_at + self._lease.total_seconds())
        self.due_at = asked_at + self._lease.total_seconds() / 3

    def _heed(self, renewal: Renewal, leased: Iterable[Held], lease_ends_at: float) -> None:
        stale = {(one.task_id, one.generation) for one in renewal.stale}
        for held in leased:
            if (held.claim.task_id, held.claim.generation) in stale:
                self._hand.drop(held)
            else:
                held.lease_ends_at = lease_ends_at
                self._pass_on(held, renewal.cancel_requested)

    def _pass_on(self, held: Held, cancel_requested: Collection[UUID]) -> None:
        if held.claim.task_id in cancel_requested and not held.cancel_requested:
            held.cancel_requested = True
            held.cancelled.set()
