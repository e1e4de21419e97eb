"""After a worker process died: end its leases at once, and charge whom there is to charge."""

import logging
import time
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db import Error as DatabaseTrouble

from scheduling import clock, ledger
from scheduling.workers.outage import Outage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Death:
    """A worker process that ended without having settled everything it held."""

    worker: UUID
    blamed: Collection[tuple[UUID, int]]
    """(task, generation) of those to charge. Whatever else it held is released."""
    note: str
    """How it died, for the attempts that are charged."""
    patience: float
    """Seconds to try for while the ledger does not answer. The leases end by themselves later."""


def end_leases(death: Death) -> int:
    """In a process of its own, so that the supervisor needs no database: the exit code."""
    give_up_at = clock.monotonic() + death.patience
    outage = Outage()
    while True:
        try:
            _reap(death)
        except DatabaseTrouble as error:
            outage.go_on(error)
            if outage.try_again_at >= give_up_at:
                return 1
            time.sleep(max(outage.try_again_at - clock.monotonic(), 0))
        else:
            return 0


def _reap(death: Death) -> None:
    leases = ledger.held_leases(death.worker)
    uncharged = [
        lease.task_id for lease in leases if (lease.task_id, lease.generation) not in death.blamed
    ]
    ledger.reap(leases, uncharged=uncharged, note=death.note)
    ledger.sign_off(death.worker)
