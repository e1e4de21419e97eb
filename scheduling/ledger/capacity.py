"""Owns when nobody's tasks are accepted any more: too many are queued in all, or the disk is nearly full.

Whoever would add work asks first; those who claim, renew and settle never do, for they are what makes room.
Both are looked at once a second in each process, so asking costs nothing, and `LEDGER_MAX_QUEUED` may be
exceeded by what is accepted within a second. A tenant's own limits are exact, and not decided here.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Sum

from scheduling import clock
from scheduling.conf import conf
from scheduling.errors import Overloaded
from scheduling.ledger import storage
from scheduling.models import Intake, Outflow

LOOK = 1.0
"""Seconds that a look at the ledger and its disk is good for."""
RETRY_AFTER = timedelta(seconds=5)
"""A guess: long enough for work to be done, or for somebody to make room."""


@dataclass(slots=True)
class _Look:
    """What was found, and until when it counts. Two threads may look at once, and find the same."""

    ends_at: float = 0.0
    found: str | None = None


_last = _Look()


def require_room() -> None:
    """Raises Overloaded while the system takes no more work."""
    if clock.monotonic() >= _last.ends_at:
        _last.found = _what_is_full()
        _last.ends_at = clock.monotonic() + LOOK
    if _last.found:
        raise Overloaded(_last.found, retry_after=RETRY_AFTER)


def look_again() -> None:
    """Let the next one who asks look, and not take a former look for granted."""
    _last.ends_at = 0.0


def unfinished() -> int:
    """Tasks waiting and running, of all tenants."""
    finished = Outflow.objects.aggregate(all=Sum("finished"))["all"] or 0
    return int((Intake.objects.aggregate(all=Sum("accepted"))["all"] or 0) - finished)


def _what_is_full() -> str | None:
    path = storage.ledger_file()
    if path and (free := storage.bytes_free_beside(path)) < storage.least_free_bytes():
        return f"The ledger's disk is nearly full: {free // storage.MIB} MiB are free."
    most = conf().LEDGER_MAX_QUEUED
    if most and unfinished() >= most:
        return f"The ledger holds as many unfinished tasks as it may: {most}."
    return None
