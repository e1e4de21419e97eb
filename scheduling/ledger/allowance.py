"""What a tenant may still enqueue, by its rate: for answers that tell callers before they are refused.

The truth is the intake's row, and enqueueing decides by it alone. Here it is looked at once a second in each
process and tenant, and counted on from there, so that telling costs the way in nothing.
"""

from dataclasses import dataclass
from datetime import timedelta
from math import ceil, floor

from scheduling import clock
from scheduling.ledger.dialects import dialect
from scheduling.models import Intake
from tenants.models import Tenant

LOOK = 1.0
"""Seconds that a look is good for."""
MOST_TENANTS = 1000
"""Remembered at once, so that a process that meets very many does not keep them all."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much of its burst a tenant has left, and when it has all of it again."""

    burst: int
    rate_per_second: float
    left: int

    @property
    def window(self) -> timedelta:
        """In which a burst that was used up grows back."""
        return timedelta(seconds=ceil(self.burst / self.rate_per_second))

    @property
    def whole_in(self) -> timedelta:
        return timedelta(seconds=ceil((self.burst - self.left) / self.rate_per_second))


@dataclass(slots=True)
class _Look:
    at: float
    burst: int
    rate: float | None
    left: float
    spent: int = 0


_looks: dict[int, _Look] = {}


def allowance(tenant_id: int) -> Allowance | None:
    """As the ledger has it now. None: the tenant has no limit to its rate. One query."""
    return _told(_look(tenant_id))


def after_spending(tenant_id: int, count: int) -> Allowance | None:
    """As far as this process knows, once it has enqueued so many more."""
    look = _looks.get(tenant_id)
    if look is None or clock.monotonic() - look.at > LOOK:
        if len(_looks) >= MOST_TENANTS:
            _looks.clear()
        look = _looks[tenant_id] = _look(tenant_id)
    else:
        look.spent += count
    return _told(look)


def forget() -> None:
    """Let the next answer look anew."""
    _looks.clear()


def _look(tenant_id: int) -> _Look:
    rows = Intake.objects.filter(pk=tenant_id).values_list("full_at", flat=True)
    tenant = Tenant.objects.only("rate_per_second", "rate_burst").get(pk=tenant_id)
    debt = max(next(iter(rows), 0.0) - dialect().now().timestamp(), 0.0)
    rate = tenant.rate_per_second
    return _Look(
        clock.monotonic(), tenant.rate_burst, rate, tenant.rate_burst - debt * (rate or 0.0)
    )


def _told(look: _Look) -> Allowance | None:
    if look.rate is None:
        return None
    refilled = (clock.monotonic() - look.at) * look.rate
    left = floor(min(look.left - look.spent + refilled, look.burst) + 1e-6)
    return Allowance(look.burst, look.rate, max(left, 0))
