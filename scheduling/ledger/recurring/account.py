"""Accounting for the ticks that have come, of rows that the caller holds: one transaction, one batch."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scheduling.ledger.recurring.look_back import busy_among, look_back, waiting_among
from scheduling.ledger.recurring.make import make_tasks, new_task
from scheduling.ledger.recurring.plan import TOOK_ITS_PLACE, Plan, plan
from scheduling.ledger.values import NewTask
from scheduling.models import RecurringTask, Tick
from scheduling.policies import Origin, TickOutcome

logger = logging.getLogger(__name__)

STANDING = (
    "next_at",
    "fires_at",
    "reached_at",
    "last_at",
    "failures",
    "paused",
    "paused_reason",
    "disabled_reason",
    "version",
)
"""What a look changes of a row."""
REASON_LENGTH = 500


@dataclass(slots=True)
class Account:
    """What was written."""

    fired: int = 0
    goes_on: set[object] = field(default_factory=set)
    """The ids of rows of which more has come than was looked at."""


def account(
    rows: Sequence[RecurringTask], now: datetime, *, silent_ones_too: bool = False
) -> Account:
    """Ticks, tasks and what comes next, for rows that are locked. A row that cannot be read is disabled.

    Of silent rows, which are paused or disabled, only when told so: nothing of them is due.

    Locks and writes in the order of every verb: intakes, tasks, lanes. The rows come before all of them.
    """
    look_back(rows)
    busy, waiting = busy_among(rows), waiting_among(rows)
    plans: list[Plan] = []
    wanted: list[tuple[Tick, NewTask]] = []
    for row in rows:
        if row.is_silent and not silent_ones_too:
            continue
        try:
            task = new_task(row, now)
            made = plan(row, now, is_busy=row.pk in busy, has_waiting=row.pk in waiting)
        except Exception as error:
            logger.exception("Recurring task %s (%s) is disabled.", row.pk, row.name)
            disable(row, f"It cannot be read: {error}")
        else:
            plans.append(made)
            wanted += [(tick, task) for tick in made.fire]
    return _write(rows, plans, wanted, now)


def _write(
    rows: Sequence[RecurringTask],
    plans: Sequence[Plan],
    wanted: Sequence[tuple[Tick, NewTask]],
    now: datetime,
) -> Account:
    fired, _ = make_tasks(wanted, now)
    replaced = [made.row for made in plans if made.replaces_waiting]
    if replaced:
        waiting = Tick.objects.waiting().filter(recurring__in=replaced, origin=Origin.RULE)
        waiting.update(
            outcome=TickOutcome.SKIPPED_OVERLAP,
            reason=TOOK_ITS_PLACE,
            decided_at=now,
            look_at=None,
            expires_at=None,
        )
    Tick.objects.bulk_create([tick for made in plans for tick in made.ticks])
    RecurringTask.objects.bulk_update(rows, STANDING)
    return Account(fired, {made.row.pk for made in plans if made.goes_on})


def disable(row: RecurringTask, reason: str) -> None:
    """Here, and in the database once the row is saved."""
    row.disabled_reason = reason[:REASON_LENGTH]
    row.fires_at = None
    row.version += 1
