"""Ticks that wait, and will not make a task after all."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from scheduling.models import Tick
from scheduling.options import REASON_LENGTH_MAX
from scheduling.policies import Origin, TickOutcome

MOST = 1000


def of_the_rule(recurring_ids: Collection[UUID]) -> QuerySet[Tick]:
    """Not those of a backfill, which somebody asked for: they wait on whatever becomes of the rule."""
    return Tick.objects.waiting().filter(recurring__in=recurring_ids, origin=Origin.RULE)


def end(ticks: QuerySet[Tick], outcome: TickOutcome, now: datetime, reason: str = "") -> int:
    """Tell what became of them; how many. Without a reason, the one for which they waited stays."""
    told = {"reason": reason[:REASON_LENGTH_MAX]} if reason else {}
    return ticks.update(outcome=outcome, decided_at=now, look_at=None, expires_at=None, **told)


def miss(recurring_ids: Collection[UUID], reason: str, now: datetime) -> None:
    """What waits of these recurring tasks; nothing is asked for none."""
    if recurring_ids:
        end(of_the_rule(recurring_ids), TickOutcome.MISSED, now, reason)


def give_up_on_what_is_late(now: datetime) -> None:
    """Waiting on would be of no use. Those that another process has in hand are left to it."""
    late = Tick.objects.waiting().filter(expires_at__lte=now)
    if not late.exists():
        return
    with transaction.atomic():
        free = late.select_for_update(skip_locked=True)
        ids = list(free.values_list("pk", flat=True)[:MOST])
        end(Tick.objects.filter(pk__in=ids), TickOutcome.MISSED, now)
