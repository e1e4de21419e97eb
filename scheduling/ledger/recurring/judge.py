"""What is to become of a tick that has come, before anything is known of its predecessor. Pure."""

from dataclasses import dataclass
from datetime import datetime

from scheduling.durations import spelled
from scheduling.ledger.recurring.rule import Due
from scheduling.models import RecurringTask
from scheduling.policies import PUNCTUAL, Catchup, TickOutcome


@dataclass(frozen=True, slots=True)
class Judgement:
    outcome: TickOutcome
    """FIRED: it makes a task, if its predecessor and its tenant's limits let it."""
    reason: str = ""
    is_owed: bool = False
    """Of one that is made up for: it waits its turn, where one in time would be skipped."""


IN_TIME = Judgement(TickOutcome.FIRED)
MADE_UP_FOR = Judgement(TickOutcome.FIRED, is_owed=True)
NOT_MADE_UP_FOR = Judgement(
    TickOutcome.SKIPPED_CATCHUP, "Nobody fired it in time, and catch-up is none."
)
STOOD_FOR = Judgement(
    TickOutcome.COALESCED, "Nobody fired it in time, and a later tick stands for it."
)

LEFT_OUT = Judgement(
    TickOutcome.SKIPPED_DST,
    "Clocks were put forward past it, or back so that its time of day came a second time.",
)


def judge(row: RecurringTask, due: Due, now: datetime, *, is_newest: bool) -> Judgement:
    """By the policies of the row. `is_newest`: no later tick has come."""
    if row.silent_until is not None and due.at <= row.silent_until:
        return Judgement(TickOutcome.MISSED, row.silent_because)
    if due.is_skipped:
        return LEFT_OUT
    late_by = now - due.fires_at
    if late_by < PUNCTUAL:
        return IN_TIME
    catchup = Catchup(row.catchup)
    if catchup is Catchup.NONE:
        return NOT_MADE_UP_FOR
    if late_by > row.catchup_window:
        window = spelled(row.catchup_window) or "0s"
        return Judgement(
            TickOutcome.MISSED, f"Nobody fired it within its catch-up window of {window}."
        )
    if catchup is Catchup.ALL:
        return MADE_UP_FOR
    return IN_TIME if is_newest else STOOD_FOR


def of_use_until(row: RecurringTask, instant: datetime) -> datetime:
    """How long a tick that was to be fired at an instant, and met a limit, may be tried again."""
    is_made_up_for = Catchup(row.catchup) is not Catchup.NONE
    return instant + (max(PUNCTUAL, row.catchup_window) if is_made_up_for else PUNCTUAL)
