"""Why a ledger is not moved, in words for the operator. Nothing was changed when one of these is raised,
unless it says so."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from scheduling.errors import RentrollError

SHOWN = 10


class CannotMove(RentrollError):
    """Says what is in the way, and what to do about it."""


class InFlight(CannotMove):
    """Tasks run, or their workers died and nobody has ended their leases yet."""

    def __init__(self, leases: Sequence[tuple[UUID, str, datetime]]) -> None:
        """(task, tenant, expiry) each."""
        self.count = len(leases)
        listed = ", ".join(
            f"{task} of {tenant} (leased until {expires_at:%F %T} UTC)"
            for task, tenant, expires_at in leases[:SHOWN]
        )
        more = f" and {len(leases) - SHOWN} more" if len(leases) > SHOWN else ""
        super().__init__(
            f"{len(leases)} in flight: {listed}{more}. Say --wait to wait until they have ended; a lease that "
            "nobody renews any more is ended then."
        )


class Differs(RentrollError):
    """The two sides are not the same, or one of them violates its invariants. Both are as they were."""
