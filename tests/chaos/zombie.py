"""Workers that do all that a worker must not: they never renew, take too long, and settle all the same.

Worker processes notice that they lost a lease before they settle, so they seldom come to the ledger's fence.
These run into it all the time.
"""

from collections.abc import Callable, Mapping
from json import dumps
from uuid import uuid4

from django.db import DatabaseError, IntegrityError, InterfaceError, connections, transaction

from scheduling import ledger
from scheduling.errors import LimitExceeded, Overloaded, StaleLease
from scheduling.ledger import Claim, NewTask, Settlement, Succeed
from tenants.models import Tenant
from tests.chaos import bills, plan
from tests.chaos.actor import Actor, Closing
from tests.chaos.effects import note
from tests.chaos.load import ZOMBIES_TENANT, timed
from tests.chaos.records import Event

LASTS = (0.5 * plan.LEASE, 2.5 * plan.LEASE)
RENEWS_LATE = 0.3
"""How often one asks for more time when it has none left."""
QUEUE = "zombies"


class Verbs(Closing):
    """The ledger itself, through this thread's connection."""

    def close(self) -> None:
        connections.close_all()


class Zombie(Actor[Verbs]):
    """Claims a task of its own making, before a worker can; whoever claims it next is a worker."""

    def __init__(self, name: str, seed: str, desk: Callable[[], Verbs] = Verbs) -> None:
        super().__init__(name, seed, desk)
        self._worker = uuid4()

    def _pause(self) -> float:
        return self._rng.uniform(0, 0.2)

    def _act(self, desk: Verbs) -> None:
        lasts, renews = self._rng.uniform(*LASTS), self._rng.random() < RENEWS_LATE
        next_lasts = round(self._rng.uniform(*LASTS), 3)
        name = self._rng.choice(list(WAYS))
        try:
            for claim in self._claim(name, next_lasts):
                note(claim, Event.START)
                self._stop.wait(lasts)
                if renews:
                    ledger.renew([claim], lease=plan.TERM)
                note(claim, Event.END)
                self.answers.append(timed("settle", lambda: WAYS[claim.name](claim)))  # noqa: B023  # at once
        except (DatabaseError, InterfaceError, LimitExceeded, Overloaded):
            desk.close()

    def _claim(self, name: str, seconds: float) -> list[Claim]:
        """`seconds` is how long it will take the worker that gets it afterwards."""
        with transaction.atomic():
            tenant = Tenant.objects.get(slug=ZOMBIES_TENANT.slug)
            task = NewTask(
                tenant_id=tenant.pk,
                name=name,
                queue=QUEUE,
                kwargs_json=dumps({"seconds": seconds}),
            )
            ledger.enqueue([task])
            found = ledger.claim(self._worker, limit=1, queues={QUEUE}, lease=plan.TERM)
        return found.claims


def bill(claim: Claim) -> tuple[int, str, str]:
    """With a row of its own in the same transaction."""
    try:
        with ledger.settle_with(claim, Succeed):
            bills.write(claim)
    except StaleLease as error:
        return 409, str(claim.task_id), str(error)
    return 200, str(claim.task_id), ""


def settle(claim: Claim) -> tuple[int, str, str]:
    """A fence refuses; it does not break."""
    try:
        settling = ledger.settle([Settlement(claim, Succeed())])
    except IntegrityError as error:
        return 500, str(claim.task_id), str(error)
    return (409 if settling.stale else 200), str(claim.task_id), ""


WAYS: Mapping[str, Callable[[Claim], tuple[int, str, str]]] = {
    "chaos.work": settle,
    "chaos.bill": bill,
}
"""How successes are settled, by the name of the task: it may be another that was left behind."""
