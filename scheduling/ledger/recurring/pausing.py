"""Pausing and resuming recurring tasks. No tick that comes meanwhile makes a task, then or later."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from scheduling.ledger import wake
from scheduling.ledger.dialects import dialect
from scheduling.ledger.recurring import waiting
from scheduling.ledger.recurring.keep import hush, locked, require_version, store_state
from scheduling.ledger.recurring.rule import move_to
from scheduling.models import RecurringTask
from scheduling.options import REASON_LENGTH_MAX


def pause_recurring(
    recurring_id: UUID,
    paused: bool,  # noqa: FBT001  # the two directions of one switch
    *,
    reason: str = "",
    version: int | None = None,
    now: datetime | None = None,
) -> RecurringTask:
    """Pause it, or resume it; what is so already only takes the reason. Raises UnknownRecurring.

    Ticks that come while it is paused, that wait, or that nobody has fired yet, are missed, and accounted for as
    such when it is resumed. Resuming also enables a row that was disabled, if it can be read again, and begins to
    count failures anew; it raises InvalidRecurrence if it cannot.
    """
    now = now or dialect().now()
    with transaction.atomic():
        row = locked(recurring_id)
        require_version(row, version)
        if paused:
            _pause(row, reason, now)
        else:
            _resume(row, now)
        row.version += 1
        store_state(row)
        wake.after_commit(wake.TICK)
    return row


def _pause(row: RecurringTask, reason: str, now: datetime) -> None:
    row.paused, row.paused_reason, row.fires_at = True, reason[:REASON_LENGTH_MAX], None
    waiting.miss([row.pk], "It was paused while this waited.", now)


def _resume(row: RecurringTask, now: datetime) -> None:
    if row.is_silent:
        hush(row, now)
    row.paused, row.paused_reason, row.disabled_reason, row.failures = False, "", "", 0
    move_to(row, row.reached_at)
