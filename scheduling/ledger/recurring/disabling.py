"""Disabling a recurring task that cannot fire, so that it stands in nobody's way and says why."""

import logging
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.db.models import F

from scheduling.ledger.recurring import waiting
from scheduling.ledger.recurring.make import new_task
from scheduling.ledger.values import NewTask
from scheduling.models import RecurringTask
from scheduling.options import REASON_LENGTH_MAX

logger = logging.getLogger(__name__)


def disable(row: RecurringTask, reason: str, now: datetime) -> None:
    """Here and in the ledger, where nothing else of the row is written: what it holds may be what is wrong."""
    row.disabled_reason, row.fires_at = reason[:REASON_LENGTH_MAX], None
    _disable(row.pk, reason, now)


def disable_refused(recurring_id: UUID, error: DatabaseError, now: datetime) -> None:
    """What it came to cannot be stored. Outside of the transaction that failed."""
    logger.error("Recurring task %s is disabled: %s", recurring_id, error)
    with transaction.atomic():
        _disable(recurring_id, f"The database refuses what it comes to: {error}", now)


def _disable(recurring_id: UUID, reason: str, now: datetime) -> None:
    RecurringTask.objects.filter(pk=recurring_id).update(
        disabled_reason=reason[:REASON_LENGTH_MAX], fires_at=None, version=F("version") + 1
    )
    waiting.miss([recurring_id], reason, now)


def is_refusal(error: DatabaseError) -> bool:
    """Whether the database answered, and would not store what it was given."""
    return not isinstance(error, OperationalError | InterfaceError)


def task_or_disable(row: RecurringTask, now: datetime) -> NewTask | None:
    """What the row makes. None: it cannot be read, and is disabled."""
    try:
        return new_task(row, now)
    except Exception as error:  # noqa: BLE001  # whatever it is, the other rows go on
        logger.error(  # what the error says may hold a part of the payload; the row keeps it
            "Recurring task %s (%s) cannot be read, and is disabled: %s.",
            row.pk, row.name, type(error).__name__,
        )  # fmt: skip
        disable(row, f"It cannot be read: {error}", now)
        return None
