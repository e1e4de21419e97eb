"""Runs that somebody asks for: one now, or those of a range that has passed."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from uuid import UUID

from django.db import transaction

from scheduling.errors import InvalidTask, Overlapping, UnknownRecurring
from scheduling.ledger import capacity, wake
from scheduling.ledger.cancel import cancel
from scheduling.ledger.dialects import dialect
from scheduling.ledger.recurring.account import save_standing
from scheduling.ledger.recurring.keep import locked
from scheduling.ledger.recurring.look_back import look_back, may_overlap, unfinished
from scheduling.ledger.recurring.make import make_tasks, new_task
from scheduling.ledger.recurring.release import release_of
from scheduling.ledger.recurring.values import Backfilled
from scheduling.models import RecurringTask, Tick
from scheduling.policies import Origin, Overlap, TickOutcome

A_MOMENT = timedelta(microseconds=1)
BACKFILL_MOST = 1000
"""Instants that one call looks at."""


def run_now(
    recurring_id: UUID,
    *,
    now: datetime | None = None,
    beside: Callable[[UUID], object] | None = None,
) -> UUID:
    """Make a task of it at once; its id. Also while it is paused or disabled: somebody asks for it.

    It is no tick of the rule, and shifts none; a later tick finds it unfinished as it would any other.
    Raises UnknownRecurring, what enqueueing raises, and Overlapping while one is not over and may not be overlapped;
    with `cancel_other` that one has been asked to stop by then, in a transaction of its own, so the caller has none
    open. `beside` is called in the one that makes the task, with its id.
    """
    capacity.require_room()
    now = now or dialect().now()
    _cancel_others(recurring_id, now)
    with transaction.atomic(durable=True):
        row = locked(recurring_id)
        look_back([row], now)
        _require_turn(row)
        tick = Tick(recurring=row, at=_free_instant(row, now), origin=Origin.RUN_NOW)
        try:
            task = new_task(row, now)
        except ValueError as error:
            raise InvalidTask({"payload": str(error)}) from error
        _, limits = make_tasks([(tick, task)], now)
        if limits:
            raise limits[row.tenant_id]
        tick.save()
        _came(row, tick.at)
        assert tick.task_id is not None  # nosec B101  # for the type checker
        if beside:
            beside(tick.task_id)
    return tick.task_id


def _came(row: RecurringTask, at: datetime) -> None:
    """The last tick of a row is the last one there is, whoever wanted it."""
    row.last_at = max(at, row.last_at or at)
    save_standing([row])


def _cancel_others(recurring_id: UUID, now: datetime) -> None:
    others = unfinished().filter(recurring=recurring_id, recurring__overlap=Overlap.CANCEL_OTHER)
    cancel(list(others.values_list("task__pk", flat=True)), now=now)


def _require_turn(row: RecurringTask) -> None:
    if may_overlap(row):
        return
    first = (
        unfinished().filter(recurring=row).order_by("at").values_list("task_id", flat=True).first()
    )
    if first or Tick.objects.waiting().filter(recurring=row).exists():
        raise Overlapping(row.name, first)


def _free_instant(row: RecurringTask, now: datetime) -> datetime:
    """Now, or a microsecond after the last of several in the same one."""
    earlier = Tick.objects.filter(recurring=row, origin=Origin.RUN_NOW, at__gte=now)
    last = earlier.order_by("-at").values_list("at", flat=True).first()
    return last + A_MOMENT if last else now


def backfill(
    recurring_id: UUID,
    start: datetime,
    end: datetime,
    *,
    limit: int = BACKFILL_MOST,
    now: datetime | None = None,
    beside: Callable[[Sequence[datetime]], object] | None = None,
) -> Backfilled:
    """Make up for instants from `start` to `end`, both included, for which there is no task: by the rule as it is now.

    Only for what was accounted for as passed; the rest is left to the rule. They fire at once as far as the
    tenant's limits and the overlap policy allow, and wait for their turn otherwise, for as long as it takes. Asking
    twice makes nothing twice. They are kept in one transaction, in which `beside` is called with them, and fire in
    others, so the caller has none open. Raises UnknownRecurring, and InvalidTask for a range that is none.
    """
    _require_range(start, end)
    capacity.require_room()
    now = now or dialect().now()
    with transaction.atomic(durable=True):
        row = locked(recurring_id)
        missing, left_alone, goes_on_from = _missing(row, start, end, limit)
        Tick.objects.bulk_create(
            Tick(recurring=row, at=at, origin=Origin.BACKFILL, decided_at=now, look_at=now)
            for at in missing
        )
        if missing:
            _came(row, missing[-1])
        wake.after_commit(wake.TICK)
        if beside:
            beside(missing)
    release_of(recurring_id, now)
    fired = _fired(row, missing)
    waiting = [at for at in missing if at not in set(fired)]
    return Backfilled(missing, fired, waiting, left_alone, goes_on_from)


def backfill_preview(
    recurring_id: UUID, start: datetime, end: datetime, *, limit: int = BACKFILL_MOST
) -> Backfilled:
    """What `backfill` would make up for as things stand: `missing`. Changes nothing, and raises the same."""
    _require_range(start, end)
    row = RecurringTask.objects.filter(pk=recurring_id).first()
    if row is None:
        raise UnknownRecurring(recurring_id)
    missing, left_alone, goes_on_from = _missing(row, start, end, limit)
    return Backfilled(missing, (), (), left_alone, goes_on_from)


def _require_range(start: datetime, end: datetime) -> None:
    if end < start:
        raise InvalidTask({"end": "must not be earlier than start"})


def _missing(
    row: RecurringTask, start: datetime, end: datetime, limit: int
) -> tuple[list[datetime], int, datetime | None]:
    """The instants without a task, how many have one, and the first that was not looked at."""
    instants, goes_on_from = _instants(row, start, end, limit)
    taken = _taken(row, instants)
    return [at for at in instants if at not in taken], len(taken), goes_on_from


def _instants(
    row: RecurringTask, start: datetime, end: datetime, limit: int
) -> tuple[list[datetime], datetime | None]:
    last = min(end, row.reached_at)
    coming = takewhile(lambda each: each.at <= last, row.recurrence.since(start))
    instants: list[datetime] = []
    for each in coming:
        if len(instants) == limit:
            return instants, each.at
        instants.append(each.at)
    return instants, None


def _taken(row: RecurringTask, instants: list[datetime]) -> set[datetime]:
    """Of these instants those that have made a task, or that wait to."""
    if not instants:
        return set()
    ticks = Tick.objects.filter(recurring=row, at__range=(instants[0], instants[-1]))
    have_come = ticks.exclude(origin=Origin.RUN_NOW).filter(outcome=TickOutcome.FIRED)
    wait = ticks.waiting()
    return set(instants) & {
        *have_come.values_list("at", flat=True),
        *wait.values_list("at", flat=True),
    }


def _fired(row: RecurringTask, instants: list[datetime]) -> list[datetime]:
    if not instants:
        return []
    ticks = Tick.objects.filter(
        recurring=row,
        origin=Origin.BACKFILL,
        outcome=TickOutcome.FIRED,
        at__range=(instants[0], instants[-1]),
    )
    fired = set(ticks.values_list("at", flat=True))
    return [at for at in instants if at in fired]
