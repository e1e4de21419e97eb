"""Releasing ticks that wait: for their predecessor to be over, or for room in the limits of their tenant."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from scheduling.ledger.cancel import cancel
from scheduling.ledger.recurring import waiting
from scheduling.ledger.recurring.account import save_standing
from scheduling.ledger.recurring.disabling import (
    disable_refused,
    is_refusal,
    task_or_disable,
)
from scheduling.ledger.recurring.judge import of_use_until
from scheduling.ledger.recurring.look_back import busy_among, look_back, may_overlap, unfinished
from scheduling.ledger.recurring.make import TRY_AGAIN, make_tasks
from scheduling.ledger.recurring.plan import FIRES
from scheduling.ledger.topics import SLOWEST_LOOK
from scheduling.models import RecurringTask, Tick
from scheduling.policies import Origin, Overlap

ROWS = 50
"""Recurring tasks of which ticks are released in one look, each in a transaction of its own."""
CONSIDERED = 1000


def is_anything_waiting(now: datetime) -> bool:
    """Whether any tick waits that is to be looked at."""
    return Tick.objects.waiting().filter(look_at__lte=now).exists()


def next_release(now: datetime) -> datetime | None:
    """When to look again at what waits. None: nothing does.

    Nobody is told when a task is over, so that settling costs nothing more: what waits for that is looked at
    once a second, for as long as anything waits.
    """
    waits = Tick.objects.waiting().order_by("look_at")
    look_at = waits.values_list("look_at", flat=True).first()
    return look_at and max(look_at, now + SLOWEST_LOOK)


def release_waiting(now: datetime) -> int:
    """Make tasks of ticks whose turn it is; how many. What it is of no use any more to wait for is missed."""
    waiting.give_up_on_what_is_late(now)
    _cancel_what_is_in_the_way(now)
    fired, full = 0, set[int]()
    for recurring_id, tenant_id in _whose_turn_it_is(now):
        if tenant_id not in full:
            made, is_full = release_of(recurring_id, now)
            fired += made
            if is_full:
                full.add(tenant_id)
    if full:
        _put_off(full, now)
    return fired


def release_of(recurring_id: UUID, now: datetime) -> tuple[int, bool]:
    """The ticks of one row whose turn it is; how many made a task, and whether the tenant is at a limit.

    Nothing while another process holds the row. It is disabled when the database refuses what it comes to.
    """
    try:
        with transaction.atomic():
            rows = RecurringTask.objects.filter(pk=recurring_id, paused=False, disabled_reason="")
            row = rows.select_for_update(skip_locked=True, no_key=True).first()
            return _release(row, now) if row else (0, False)
    except DatabaseError as error:
        if not is_refusal(error):
            raise
        disable_refused(recurring_id, error, now)
        return 0, False


def _release(row: RecurringTask, now: datetime) -> tuple[int, bool]:
    look_back([row], now)
    save_standing([row])
    if row.paused or busy_among([row]):
        return 0, False
    task = task_or_disable(row, now)
    if task is None:
        return 0, False
    ticks = _in_turn(row, now)
    for tick in ticks:
        if tick.expires_at is None and tick.origin == Origin.RULE:
            tick.expires_at = of_use_until(row, now)
    fired, limits = make_tasks([(tick, task) for tick in ticks], now)
    for tick in ticks:
        tick.save()
    return fired, bool(limits)


def _in_turn(row: RecurringTask, now: datetime) -> list[Tick]:
    """The oldest. Of one that may not overlap none comes before it, also while it is to be looked at later."""
    waits = Tick.objects.waiting().filter(recurring=row).order_by("at", "pk")
    if may_overlap(row):
        waits = waits.filter(look_at__lte=now)
    most = FIRES if may_overlap(row) else 1
    found = waits.select_for_update(skip_locked=True, of=("self",))[:most]
    return [tick for tick in found if tick.look_at and tick.look_at <= now]


def _whose_turn_it_is(now: datetime) -> Iterable[tuple[UUID, int]]:
    """(recurring task, tenant), those that have waited longest first."""
    ready = (
        _active(Tick.objects.waiting().filter(look_at__lte=now))
        .filter(
            Q(recurring__overlap=Overlap.ALLOW)
            | ~Exists(unfinished().filter(recurring=OuterRef("recurring")))
        )
        .order_by("look_at", "pk")
    )
    found = ready.values_list("recurring_id", "recurring__tenant_id")[:CONSIDERED]
    return list(dict.fromkeys(found))[:ROWS]


def _active(ticks: QuerySet[Tick]) -> QuerySet[Tick]:
    return ticks.filter(recurring__paused=False, recurring__disabled_reason="")


def _cancel_what_is_in_the_way(now: datetime) -> None:
    """Of `cancel_other`, for ticks of the rule; those of a backfill run one after the other, and cancel nothing.

    Asked for again when whoever asked first died before that was committed.
    """
    waits = _active(Tick.objects.waiting()).filter(
        origin=Origin.RULE, recurring__overlap=Overlap.CANCEL_OTHER
    )
    recurring_ids = set(waits.values_list("recurring_id", flat=True)[:CONSIDERED])
    if not recurring_ids:
        return
    newer = waits.filter(recurring=OuterRef("recurring"), at__gt=OuterRef("at"))
    in_the_way = unfinished().filter(
        Exists(newer),  # in one look: what waited a moment ago may be the task that is found now
        recurring__in=recurring_ids,
        task__cancel_requested_at=None,
    )
    cancel(list(in_the_way.values_list("task__pk", flat=True)[:CONSIDERED]), now=now)


def _put_off(tenant_ids: Iterable[int], now: datetime) -> None:
    """What else waits of tenants that are at a limit; until it is of no use any more, if that comes first."""
    later = now + TRY_AGAIN
    due = Tick.objects.waiting().filter(look_at__lte=now, recurring__tenant__in=tenant_ids)
    due.filter(expires_at__lt=later).update(look_at=F("expires_at"))
    due.update(look_at=later)
