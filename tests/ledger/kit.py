"""A short way to say what the ledger's tests say again and again.

Time is moved by hand: every verb is told what `now` is. Leases last ten seconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

from scheduling import ledger, payload
from scheduling.ledger import check
from scheduling.ledger.values import (
    Claim,
    Fail,
    Failure,
    NewTask,
    Receipt,
    Settlement,
    Settling,
    Succeed,
    Verdict,
)
from scheduling.ledger.violations import Check
from scheduling.models import Attempt, Task
from tenants.models import Tenant
from tests import recounting

START = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
LEASE = timedelta(seconds=10)
NO_DELAY = timedelta(0)
NOTHING: Mapping[str, Any] = MappingProxyType({})


def at(seconds: float) -> datetime:
    """So many seconds after the test began."""
    return START + timedelta(seconds=seconds)


def new(
    tenant: Tenant, *, args: Sequence[Any] = (), kwargs: Mapping[str, Any] = NOTHING, **options: Any
) -> NewTask:
    return NewTask(
        tenant_id=tenant.pk,
        args_json=payload.encode(args),
        kwargs_json=payload.encode(kwargs),
        **{"name": "demo.echo", **options},
    )


def put(tenant: Tenant, count: int = 1, *, now: datetime = START, **options: Any) -> list[UUID]:
    """Enqueue `count` tasks."""
    return [one.task_id for one in ledger.enqueue([new(tenant, **options)] * count, now=now)]


def take(
    limit: int = 1, *, worker: UUID | None = None, now: datetime = START, **options: Any
) -> list[Claim]:
    """Promote what is due, then claim up to `limit` tasks, for a new worker unless one is named."""
    ledger.promote(now=now)
    return ledger.claim(worker or uuid4(), limit=limit, lease=LEASE, now=now, **options).claims


def say(claims: Claim | Iterable[Claim], verdict: Verdict, *, now: datetime = START) -> Settling:
    """Settle claims with one verdict."""
    all_claims = [claims] if isinstance(claims, Claim) else claims
    return ledger.settle([Settlement(claim, verdict) for claim in all_claims], now=now)


def run(claims: Iterable[Claim], *, now: datetime = START) -> list[UUID]:
    """Let the claims succeed; answers which tasks they were, in the order in which they were started."""
    claims = list(claims)
    say(claims, Succeed(), now=now)
    return [claim.task_id for claim in claims]


def failing(*, retry_in: timedelta | None = NO_DELAY) -> Fail:
    return Fail(Failure("ValueError", "no luck"), retry_in)


def task(task_id: UUID) -> Task:
    return Task.objects.get(pk=task_id)


def outcomes(task_id: UUID) -> list[str]:
    """Of the attempts, in the order of their generations."""
    return list(task(task_id).history.values_list("outcome", flat=True))


def most_at_once(slug: str) -> int:
    """How many of that tenant's were in flight at one instant, by the ledger's own record of when each held its lease."""
    attempts = Attempt.objects.filter(task__tenant__slug=slug)
    spans = list(attempts.values_list("started_at", "finished_at"))
    # At one instant ends come before beginnings.
    changes = sorted([(end, -1) for _, end in spans] + [(start, 1) for start, _ in spans])
    return max(accumulate(change for _, change in changes))


def violations_of(one_check: Check) -> list[str]:
    """What that check finds. It must be one of those that `violations` runs, and seen by the recount after tests."""
    assert one_check in check.CHECKS
    found = list(one_check())
    assert not found or set(found) <= set(recounting.violations())
    return found


# The kill switch, thrown by an operator at so many seconds


def pause(*, now: float = 0, **scope: Any) -> Receipt:
    return ledger.pause(**{"by": "operator", **scope}, now=at(now))


def resume(*, now: float = 0, **scope: Any) -> Receipt:
    return ledger.resume(**{"by": "operator", **scope}, now=at(now))


def take_all(*, now: float = 0) -> list[Claim]:
    """Claim as a worker does: again for as long as there may be more."""
    claims: list[Claim] = []
    ledger.promote(now=at(now))
    while (found := ledger.claim(uuid4(), limit=100, now=at(now))).claims or found.contended:
        claims += found.claims
    return claims


def run_all(*, now: float = 0) -> set[UUID]:
    """Let everything run that may; answers which tasks did."""
    return set(run(take_all(now=now), now=at(now)))
