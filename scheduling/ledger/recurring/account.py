"""Accounting for the ticks that have come, of rows that the caller holds: one transaction, one batch."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from scheduling.ledger.recurring import waiting
from scheduling.ledger.recurring.disabling import disable, task_or_disable
from scheduling.ledger.recurring.look_back import busy_among, look_back, waiting_among
from scheduling.ledger.recurring.make import make_tasks
from scheduling.ledger.recurring.plan import TOOK_ITS_PLACE, Look, Plan, plan
from scheduling.ledger.values import NewTask
from scheduling.models import RecurringTask, Tick
from scheduling.policies import TickOutcome

logger = logging.getLogger(__name__)

STANDING = (
    "next_at",
    "fires_at",
    "reached_at",
    "last_at",
    "failures",
    "paused",
    "paused_reason",
    "version",
)
"""What a look changes of a row."""
INSTANTS = 2000
"""In one transaction, of all its rows together: those that lay still for long are caught up with bit by bit."""


@dataclass(slots=True)
class Account:
    """What was written."""

    fired: int = 0
    goes_on: set[object] = field(default_factory=set)
    """The ids of rows of which more has come than was looked at."""


def account(
    rows: Sequence[RecurringTask],
    now: datetime,
    *,
    silent_ones_too: bool = False,
    before_their_jitter: bool = False,
) -> Account:
    """Ticks, tasks and what comes next, for rows that are locked. A row that cannot be read is disabled.

    Silent rows, which are paused or disabled, are left alone unless asked for: then what has come of them is told
    as their `silent_until` says. Rows for which there was no time are as due as before.

    Locks and writes in the order of every verb: intakes, tasks, lanes. The rows come before all of them.
    """
    disabled = {row.pk for row in rows if row.disabled_reason}
    look_back(rows, now)
    busy, have_waiting = busy_among(rows), waiting_among(rows)
    plans: list[Plan] = []
    wanted: list[tuple[Tick, NewTask]] = []
    left = INSTANTS
    for row in rows:
        if left <= 0:
            break
        look = Look(now, row.pk in busy, row.pk in have_waiting, before_their_jitter)
        task = None if row.is_silent else task_or_disable(row, now)
        made = _plan(row, look) if task or (row.is_silent and silent_ones_too) else None
        if made:
            plans.append(made)
            left -= made.looked_at
            wanted += [(tick, task) for tick in made.fire if task]
    fired = _write(plans, wanted, now)
    save_standing([row for row in rows if row.pk in disabled or not row.disabled_reason])
    return Account(fired, {made.row.pk for made in plans if made.goes_on})


def _plan(row: RecurringTask, look: Look) -> Plan | None:
    """None: the row cannot be followed, and is disabled."""
    try:
        return plan(row, look)
    except Exception as error:
        logger.exception("Recurring task %s (%s) is disabled.", row.pk, row.name)
        disable(row, f"It cannot be followed: {error}", look.now)
        return None


def _write(plans: Sequence[Plan], wanted: Sequence[tuple[Tick, NewTask]], now: datetime) -> int:
    """Tasks, and then the ticks that made them; how many."""
    fired, _ = make_tasks(wanted, now)
    replaced = [made.row.pk for made in plans if made.replaces_waiting]
    if replaced:
        waits = waiting.of_the_rule(replaced)
        waiting.end(waits, TickOutcome.SKIPPED_OVERLAP, now, TOOK_ITS_PLACE)
    Tick.objects.bulk_create([tick for made in plans for tick in made.ticks])
    return fired


def save_standing(rows: Sequence[RecurringTask]) -> None:
    """What a look has changed. Most of a batch has the same rule, and comes to the same: one statement for all of it."""
    alike: dict[tuple[object, ...], list[UUID]] = {}
    for row in rows:
        alike.setdefault(tuple(getattr(row, field) for field in STANDING), []).append(row.pk)
    for values, ids in alike.items():
        standing = dict(zip(STANDING, values, strict=True))
        RecurringTask.objects.filter(pk__among=ids).update(**standing)
