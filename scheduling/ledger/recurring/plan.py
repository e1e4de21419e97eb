"""What one look at a recurring task is to write: a tick for each instant that has come. No database."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import assert_never

from scheduling.ledger.recurring.judge import Judgement, judge, of_use_until
from scheduling.ledger.recurring.rule import Due, move_to, passed
from scheduling.models import RecurringTask, Tick
from scheduling.policies import Overlap, TickOutcome

STEP = 1000
"""Instants that one look accounts for: a row that lay still for a year is caught up with in many short looks."""
FIRES = 100
"""Tasks that one look makes for one row."""
LONG_RUN = 100
"""Ticks in a row of which nothing came, for one and the same reason. Longer runs are kept as one row."""

NOT_OVER = "The task before it was not over."
TOOK_ITS_PLACE = "A later tick took its place while it waited."


@dataclass(slots=True)
class Plan:
    """Of one row. Its ticks are not stored yet, and those in `fire` have no task."""

    row: RecurringTask
    has_turn: bool
    """Nothing stands in the way of a tick: no task of the row is unfinished, and no tick waits."""
    has_waiting: bool
    ticks: list[Tick] = field(default_factory=list)
    fire: list[Tick] = field(default_factory=list)
    """Those of them that make a task now, if the tenant's limits let them."""
    replaces_waiting: bool = False
    """What waits already is not to be fired any more: a newer tick waits."""
    goes_on: bool = False
    """More have come than were looked at."""
    looked_at: int = 0

    def tell(self, due: Due, outcome: TickOutcome, reason: str, now: datetime) -> None:
        self._add(due, now, outcome=outcome, reason=reason)

    def let_fire(self, due: Due, now: datetime) -> None:
        tick = self._add(due, now, expires_at=of_use_until(self.row, due.fires_at), look_at=now)
        self.fire.append(tick)
        self.has_turn = False

    def let_wait(self, due: Due, now: datetime) -> None:
        self._add(due, now, look_at=now, reason=NOT_OVER)
        self.has_waiting = True

    def replace_waiting(self) -> None:
        self.replaces_waiting = True
        for tick in self.ticks:
            if tick.outcome is None and tick not in self.fire:
                tick.outcome, tick.reason = TickOutcome.SKIPPED_OVERLAP, TOOK_ITS_PLACE
                tick.look_at = None

    def _add(self, due: Due, now: datetime, **values: object) -> Tick:
        tick = Tick(recurring=self.row, at=due.at, decided_at=now, **values)
        self.ticks.append(tick)
        return tick


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a row beside what it holds itself."""

    now: datetime
    is_busy: bool
    """A task of it is not over."""
    has_waiting: bool
    """A tick of its rule waits."""
    before_their_jitter: bool = False
    """Ticks are accounted for from their nominal instant on."""


def plan(row: RecurringTask, look: Look) -> Plan:
    """Account for what has come, and move the row on. Raises whatever is wrong with what the row holds."""
    now, has_waiting = look.now, look.has_waiting
    found = passed(row, now, most=STEP, before_their_jitter=look.before_their_jitter)
    made = Plan(row, not (look.is_busy or has_waiting), has_waiting, goes_on=found.goes_on)
    made.looked_at = len(found.ticks)
    newest, reached = found.newest(), row.reached_at
    for due in found.ticks:
        if len(made.fire) == FIRES:
            made.goes_on = True
            break
        _decide(made, due, judge(row, due, now, is_newest=due is newest), now)
        reached = due.at
    move_to(row, reached)
    if made.ticks:
        row.last_at = max(reached, row.last_at or reached)  # by hand it may have run since
    made.ticks = list(_fold(made.ticks))
    return made


def _decide(made: Plan, due: Due, judgement: Judgement, now: datetime) -> None:
    if judgement.outcome is not TickOutcome.FIRED:
        made.tell(due, judgement.outcome, judgement.reason, now)
        return
    overlap = Overlap(made.row.overlap)
    if made.has_turn or overlap is Overlap.ALLOW:
        made.let_fire(due, now)
    else:
        _stand_back(made, due, overlap, now, is_owed=judgement.is_owed)


def _stand_back(made: Plan, due: Due, overlap: Overlap, now: datetime, *, is_owed: bool) -> None:
    """Its predecessor is not over."""
    match overlap:
        case Overlap.SKIP:
            waits = is_owed
        case Overlap.BUFFER_ONE:
            waits = is_owed or not made.has_waiting
        case Overlap.CANCEL_OTHER:
            waits = True
            made.replace_waiting()
        case Overlap.ALLOW:
            raise AssertionError("Nothing stands in its way.")
        case _:
            assert_never(overlap)
    if waits:
        made.let_wait(due, now)
    else:
        made.tell(due, TickOutcome.SKIPPED_OVERLAP, NOT_OVER, now)


def _fold(ticks: Iterable[Tick]) -> Iterator[Tick]:
    """Make one of each long run of ticks that came to nothing in the same way."""
    for (outcome, _), group in groupby(ticks, lambda tick: (tick.outcome, tick.reason)):
        run = list(group)
        if outcome is None or len(run) <= LONG_RUN:
            yield from run
        else:
            run[0].count, run[0].until = len(run), run[-1].at
            yield run[0]
