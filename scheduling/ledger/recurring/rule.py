"""Which ticks have come: instants of the rule, each with the moment at which it is fired. Pure.

Everything is computed from nominal instants. The time of day only says which of them have passed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

from scheduling.models import RecurringTask
from scheduling.recurrence import Dst, Instant

NO_TIME = timedelta()


@dataclass(frozen=True, slots=True)
class Due:
    """One tick of the rule."""

    at: datetime
    fires_at: datetime
    """When to look at it: its jitter later."""
    is_skipped: bool = False
    """A jump of the clocks keeps it from running."""


@dataclass(frozen=True, slots=True)
class Passed:
    """The ticks that have come and are not accounted for, the oldest first."""

    ticks: list[Due]
    goes_on: bool
    """Whether more have come than were asked for."""

    def newest(self) -> Due | None:
        """The last that has come, and may run; None if that is not among these."""
        if self.goes_on:
            return None
        return next((due for due in reversed(self.ticks) if not due.is_skipped), None)


def passed(
    row: RecurringTask, now: datetime, *, most: int, before_their_jitter: bool = False
) -> Passed:
    """At most so many. Raises InvalidRecurrence, or whatever else is wrong with what a row holds."""
    ticks: list[Due] = []
    for due in ticks_after(row, row.reached_at):
        if (due.at if before_their_jitter else due.fires_at) > now:
            break
        if len(ticks) == most:
            return Passed(ticks, goes_on=True)
        ticks.append(due)
    return Passed(ticks, goes_on=False)


def move_to(row: RecurringTask, instant: datetime) -> None:
    """Let everything up to an instant be accounted for, and say what comes next. The caller saves the row."""
    row.reached_at = instant
    row.next_at = row.fires_at = None
    for due in ticks_after(row, instant):
        if row.fires_at is None and not row.is_silent:
            row.fires_at = due.fires_at
        if not due.is_skipped:
            row.next_at = due.at
            break


def ticks_after(row: RecurringTask, instant: datetime) -> Iterator[Due]:
    """Strictly after it, ascending; also those that a jump of the clocks keeps from running."""
    instants = row.recurrence.after(instant, skipped=True)
    this = next(instants, None)
    while this is not None:
        following = next(instants, None)
        yield _due(row, this, following)
        this = following


def _due(row: RecurringTask, this: Instant, following: Instant | None) -> Due:
    if this.dst is Dst.SKIPPED:
        return Due(this.at, this.at, is_skipped=True)
    room = following.at - this.at if following else None
    return Due(this.at, this.at + jitter(row, this.at, room))


def jitter(row: RecurringTask, at: datetime, room: timedelta | None) -> timedelta:
    """How much later that tick is fired: always as much, and less than there is until the next.

    From a digest and not by chance, so every process comes to the same, also after a restart.
    """
    most = timedelta(seconds=row.jitter_seconds)
    if room is not None:
        most = min(most, room)
    return share_of(row.pk, at) * most if most else NO_TIME


def share_of(recurring_id: UUID, at: datetime) -> float:
    """From 0 to below 1."""
    digest = sha256(f"{recurring_id} {at.astimezone(UTC).isoformat()}".encode()).digest()
    return int.from_bytes(digest[:6]) / (1 << 48)
