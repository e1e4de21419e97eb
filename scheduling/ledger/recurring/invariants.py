"""What holds for recurring tasks and their ticks at every instant, recounted from the tables."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from django.db.models import Count, F, Q

from scheduling.ledger.recurring.look_back import GOES_ON
from scheduling.ledger.recurring.rule import move_to
from scheduling.ledger.violations import SHOWN, Check, each
from scheduling.models import RecurringTask, Tick
from scheduling.policies import Origin, TickOutcome


def an_instant_makes_one_task() -> Iterator[str]:
    fired = Tick.objects.filter(outcome=TickOutcome.FIRED).exclude(origin=Origin.RUN_NOW)
    twice = fired.order_by().values("recurring", "at").annotate(tasks=Count("pk"))
    for found in twice.filter(tasks__gt=1)[:SHOWN]:
        yield f"tick of {found['recurring']} at {found['at']}: fired {found['tasks']} times"


def a_tick_made_a_task_of_its_own_tenant() -> Iterator[str]:
    made = Tick.objects.filter(task__state__isnull=False)  # the others were pruned or discarded
    yield from each(
        made.exclude(task__tenant=F("recurring__tenant")), "made a task of another tenant"
    )


def a_tick_is_open_while_its_task_goes_on() -> Iterator[str]:
    """But for a redriven one: that run is its operator's, and no tick waits for it."""
    closed = Tick.objects.filter(outcome=TickOutcome.FIRED, is_open=False)
    yield from each(closed.filter(GOES_ON), "closed, and its task is not over")


def nothing_is_accounted_for_before_its_time() -> Iterator[str]:
    ahead = Q(at__gt=F("recurring__reached_at")) | Q(until__gt=F("recurring__reached_at"))
    yield from each(
        Tick.objects.filter(ahead, origin=Origin.RULE), "accounted for, and not reached yet"
    )


def what_comes_next_is_what_the_rule_says() -> Iterator[str]:
    """Of rows that can be followed. The others are disabled as soon as anything is due."""
    for row in islice(_led_astray(), SHOWN):
        yield f"{row}: its next tick is not the one that its rule says"


def _led_astray() -> Iterator[RecurringTask]:
    for row in RecurringTask.objects.filter(disabled_reason="").iterator():
        stored = (row.next_at, row.fires_at)
        with suppress(ValueError, TypeError, AttributeError):
            move_to(row, row.reached_at)
            if (row.next_at, row.fires_at) != stored:
                yield row


CHECKS: list[Check] = [
    an_instant_makes_one_task,
    a_tick_made_a_task_of_its_own_tenant,
    a_tick_is_open_while_its_task_goes_on,
    nothing_is_accounted_for_before_its_time,
    what_comes_next_is_what_the_rule_says,
]
