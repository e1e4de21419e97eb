"""The latest ticks of a recurring task as a strip of marks: each outcome has a colour, a shape and a word."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery

from scheduling.models import RecurringTask, Tick
from scheduling.policies import TickOutcome
from scheduling.states import TaskState

LENGTH = 24
STEP = 8
"""From one mark to the next, in the units of the drawing."""


class Look(Enum):
    """How a mark looks: the class that colours it, what it says, and its outline, 6 wide and 20 high."""

    SUCCEEDED = "succeeded", "succeeded", "M0 2h6v17h-6z"
    UNDER_WAY = "under-way", "under way", "M0 6l3-4l3 4v13h-6z"
    DEAD = "dead", "dead", "M0 2h6v6l-6 3zM6 11v8h-6v-5z"
    FIRED = "fired", "fired", "M1 2h4v17h-4z"
    WAITS = "waits", "waiting", "M.5 2.5h5v16h-5z"
    SKIPPED = "skipped", "skipped", "M0 13h6v6h-6z"
    COALESCED = "coalesced", "left to a later one", "M0 17h6v2h-6z"
    MISSED = "missed", "missed", "M.5 13.5l5 5M5.5 13.5l-5 5"

    @property
    def css(self) -> str:
        return self.value[0]

    @property
    def word(self) -> str:
        return self.value[1]

    @property
    def path(self) -> str:
        return self.value[2]


_OF_TASKS = {
    TaskState.SUCCEEDED: Look.SUCCEEDED,
    TaskState.QUEUED: Look.UNDER_WAY,
    TaskState.RUNNING: Look.UNDER_WAY,
    TaskState.DEAD: Look.DEAD,
}
_OF_OUTCOMES = {
    TickOutcome.SKIPPED_OVERLAP: Look.SKIPPED,
    TickOutcome.SKIPPED_CATCHUP: Look.SKIPPED,
    TickOutcome.SKIPPED_DST: Look.SKIPPED,
    TickOutcome.COALESCED: Look.COALESCED,
    TickOutcome.MISSED: Look.MISSED,
}


def look_of(outcome: str | None, task_state: str | None) -> Look:
    """Of one that fired, as its task has fared since. A task that is gone, or was cancelled, leaves it at that."""
    if outcome is None:
        return Look.WAITS
    if outcome == TickOutcome.FIRED:
        return _OF_TASKS.get(TaskState(task_state), Look.FIRED) if task_state else Look.FIRED
    return _OF_OUTCOMES[TickOutcome(outcome)]


@dataclass(frozen=True, slots=True)
class Mark:
    """One tick, or a run of them that came to the same."""

    at: datetime
    look: Look
    count: int
    x: int


@dataclass(frozen=True, slots=True)
class Strip:
    """The oldest first, so that the newest is always at the right."""

    marks: Sequence[Mark]

    @property
    def width(self) -> int:
        return LENGTH * STEP

    @property
    def told(self) -> str:
        """The same for who sees no colours, or nothing."""
        if not self.marks:
            return "No tick has come yet"
        counts = Counter[Look]()
        for mark in self.marks:
            counts[mark.look] += mark.count
        said = ", ".join(f"{count:,} {look.word}" for look, count in counts.most_common())
        return f"The latest ticks: {said}; the last one {self.marks[-1].look.word}"


def strips(rows: Sequence[RecurringTask]) -> dict[UUID, Strip]:
    """The strips of all of these, in two queries, however many ticks they have behind them."""
    found: dict[UUID, list[tuple[datetime, str | None, int, str | None]]] = defaultdict(list)
    if floors := _floors(rows):
        wanted = Q()
        for pk, floor in floors.items():
            wanted |= Q(recurring=pk, at__gte=floor) if floor else Q(recurring=pk)
        ticks = Tick.objects.filter(wanted).order_by()
        told = ticks.values_list("recurring_id", "at", "outcome", "count", "task__state")
        for pk, at, outcome, count, state in told:
            found[pk].append((at, outcome, count, state))
    return {row.pk: _strip(found[row.pk]) for row in rows}


def _floors(rows: Sequence[RecurringTask]) -> dict[UUID, datetime | None]:
    """Where the strip of each begins: it may have years of ticks, and no more than these are read."""
    ticks = Tick.objects.filter(recurring=OuterRef("pk")).order_by("-at")
    floor = Subquery(ticks.values("at")[LENGTH - 1 : LENGTH])
    these = RecurringTask.objects.filter(pk__in=[row.pk for row in rows]).order_by()
    return dict(these.annotate(floor=floor).values_list("pk", "floor")) if rows else {}


def _strip(ticks: list[tuple[datetime, str | None, int, str | None]]) -> Strip:
    latest = sorted(ticks, key=lambda tick: tick[0])[-LENGTH:]
    left = LENGTH - len(latest)
    return Strip(
        [
            Mark(at, look_of(outcome, state), count, (left + place) * STEP)
            for place, (at, outcome, count, state) in enumerate(latest)
        ]
    )
