"""One claim while it is in the hands of this process: what the threads around it need to know."""

from threading import Event
from typing import Protocol

from scheduling import clock
from scheduling.context import Context
from scheduling.ledger.progress import Progress
from scheduling.ledger.values import Claim, Succeed
from scheduling.workers.spans import AttemptSpan


class Interruptible(Protocol):
    """A handler that runs, as seen by the thread that watches its time."""

    def interrupt(self) -> None:
        """Raise TaskTimeout in the handler, if it is still running. Returns at once."""


class Notice(Event):
    """An event that knows whether anybody looked while it was set."""

    def __init__(self) -> None:
        super().__init__()
        self.was_seen = False

    def is_set(self) -> bool:
        is_set = super().is_set()
        self.was_seen |= is_set
        return is_set


class Held:
    """A claim, from the moment it was got to the moment nobody here works on it any more.

    Compared by identity: one task can be here twice, as a zombie that lost its lease and as a new claim.
    Instants are seconds of the monotonic clock.
    """

    __slots__ = (
        "cancel_requested",
        "cancelled",
        "claim",
        "claimed_at",
        "context",
        "handed_back",
        "interrupted",
        "lease_ends_at",
        "lease_lost",
        "overdue_at",
        "passed_on",
        "place",
        "running",
        "span",
    )

    def __init__(
        self, claim: Claim, *, place: int, claimed_at: float, lease_ends_at: float
    ) -> None:
        self.claim = claim
        self.place = place
        """Its record on the board."""
        self.claimed_at = claimed_at
        self.lease_ends_at = lease_ends_at
        """Counted from before the call that granted it, so never later than the ledger's own end of it."""
        self.cancel_requested = False
        self.cancelled = Notice()
        """The handler should stop: on request, because its time is up, or because its lease is lost."""
        self.lease_lost = Event()
        self.handed_back = False
        """The ledger has it back, as if this attempt had never been; its handler may still run."""
        self.overdue_at: float | None = None
        """When its time is up. Known once it was started."""
        self.running: Interruptible | None = None
        self.interrupted = False
        self.context: Context | None = None
        """What its handler was given. Known once it was started."""
        self.passed_on: Progress | None = None
        """The last word about its progress that the ledger was told."""
        self.span: AttemptSpan | None = None
        """Of a trace. Known once it was started, where somebody traces."""

    @property
    def success(self) -> Succeed | None:
        """What the handler has settled for itself, by `context.settle()`: nothing is left to tell the ledger."""
        return self.context.success if self.context else None

    def start_clock(self) -> None:
        """Its timeout counts from now; its deadline, a time of day, from the claim by the ledger's clock."""
        ends = []
        if self.claim.timeout_seconds is not None:
            ends.append(clock.monotonic() + self.claim.timeout_seconds)
        if self.claim.deadline is not None:
            left = self.claim.deadline - self.claim.acquired_at
            ends.append(self.claimed_at + left.total_seconds())
        self.overdue_at = min(ends, default=None)

    def news(self) -> Progress | None:
        """What its handler has said about its progress and the ledger was not told."""
        said = self.context.said if self.context else None
        return None if said is self.passed_on else said

    def wants_its_lease(self) -> bool:
        """Whether to go on renewing it."""
        return not (self.lease_lost.is_set() or self.success)

    def lose(self) -> None:
        """Tell the handler that what it does may be done again by somebody else."""
        self.lease_lost.set()
        self.cancelled.set()
