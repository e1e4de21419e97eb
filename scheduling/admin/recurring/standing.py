"""How a recurring task stands, in a word and in a sentence. No database."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from scheduling.models import RecurringTask
from scheduling.policies import PUNCTUAL
from scheduling.recurrence import InvalidRecurrence


class Standing(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    DISABLED = "disabled"
    """It cannot be followed, for a reason that the row tells."""
    OVER = "over"
    """No instant of its rule is left."""


@dataclass(frozen=True, slots=True)
class Stand:
    word: Standing
    reason: str


def stand_of(row: RecurringTask) -> Stand:
    if row.disabled_reason:
        return Stand(Standing.DISABLED, row.disabled_reason)
    if row.paused:
        return Stand(Standing.PAUSED, row.paused_reason)
    if row.next_at is None:
        return Stand(Standing.OVER, "")
    return Stand(Standing.ACTIVE, "")


def in_words(row: RecurringTask) -> str:
    """The rule as a sentence; what is written there, if nobody can read it any more."""
    try:
        return row.recurrence.in_words()
    except InvalidRecurrence:
        return row.cron or f"every {row.every_seconds} s"


def is_overdue(row: RecurringTask, now: datetime) -> bool:
    """As `RecurringTask.objects.overdue` finds them."""
    return row.fires_at is not None and now - row.fires_at > PUNCTUAL
