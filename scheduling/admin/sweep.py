"""An operation on all dead letters that match: a bounded step of them at a time, by whoever asks for the next.

Redriving and discarding take a task out of the dead letters, so what is still to do is what still matches,
further on than the last step got. How far that was stands in the ledger: a sweep that was interrupted goes on
where it stopped, and one that is cancelled leaves the rest as it is.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import floor
from typing import assert_never
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from scheduling import ledger
from scheduling.admin import audit
from scheduling.admin.letters import Found
from scheduling.admin.operations import Operation, over
from scheduling.admin.words import counted
from scheduling.errors import Overloaded
from scheduling.models import OperatorAction, Sweep, Task

STEP = 1000
WALK = 5000
"""Dead letters that one step looks at, at most."""
MOST_SAVED_UP = timedelta(seconds=10)
"""Of a rate: nobody who comes back after an hour redrives an hour's worth at once."""
TENANTS_TOLD = 20
OPERATIONS = (Operation.REDRIVE, Operation.DISCARD)


def begin(
    operation: Operation,
    found: Found,
    *,
    which: str,
    filters: str,
    by: User,
    now: datetime,
    reason: str = "",
    per_second: float | None = None,
) -> Sweep:
    """From here on it is on record. `which` says in words what matches, `filters` as the address does."""
    matching = found.matching()
    with transaction.atomic():
        return Sweep.objects.create(
            operation=operation,
            which=which[:400],
            filters=filters,
            until=now,
            per_second=per_second,
            expected=matching.count if matching.is_exact else None,
            begun_by=by.get_username(),
            begun_at=now,
            stepped_at=now,
            action=audit.record(by, operation, which, reason=reason, note="Begun."),
        )


def step(sweep_id: int, found: Found, now: datetime) -> Sweep:
    """The next few, if there are any and the rate allows it. One transaction, with its part of the record."""
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update().get(pk=sweep_id)
        if sweep.state == Sweep.State.UNDER_WAY and (most := _allowance(sweep, now)):
            _step(sweep, found, most)
            sweep.stepped_at = now
            _save(sweep)
    return sweep


def cancel(sweep_id: int, by: User) -> Sweep:
    """What is done stays done; the rest stays dead."""
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update().get(pk=sweep_id)
        if sweep.state == Sweep.State.UNDER_WAY:
            sweep.state = Sweep.State.CANCELLED
            sweep.note = "Cancelled: the rest is as it was."
            _save(sweep)
            audit.record(by, "cancel", f"the sweep: {sweep}", done=1, note=told(sweep))
    return sweep


def told(sweep: Sweep) -> str:
    """What was done, and what was not."""
    done = f"{counted(sweep.done, 'dead letter')} {Operation(sweep.operation).past}."
    return f"{done} {sweep.note}".rstrip()


def _allowance(sweep: Sweep, now: datetime) -> int:
    """How many the next step may take."""
    if sweep.per_second is None:
        return STEP
    saved_up = min(
        now - sweep.stepped_at, max(MOST_SAVED_UP, timedelta(seconds=1 / sweep.per_second))
    )
    return min(floor(saved_up.total_seconds() * sweep.per_second), STEP)


def _step(sweep: Sweep, found: Found, most: int) -> None:
    candidates = _next(sweep, found.among)
    standing = found.letters.filter(
        pk__among=[task_id for _, task_id in candidates], finished_at__lte=sweep.until
    )
    batch = list(_in_order(standing.exclude(tenant__in=list(sweep.full)))[:most])
    done, full = _perform(Operation(sweep.operation), batch)
    sweep.done += done
    if any(isinstance(limit, Overloaded) for limit in full.values()):
        sweep.note = f"It waits: {next(iter(full.values()))}"
        return  # and goes on from here
    tenants = {task.tenant_id: task.tenant for task in batch}
    sweep.full |= {str(key): over(tenants[key], limit) for key, limit in full.items()}
    sweep.note = ""
    if len(batch) == most:
        _move_past(sweep, (batch[-1].tenant_id, batch[-1].pk))
    elif len(candidates) == WALK:
        _move_past(sweep, candidates[-1])
    else:
        _finish(sweep, found)


def _next(sweep: Sweep, among: QuerySet[Task]) -> list[tuple[int, UUID]]:
    """Where the last step stopped: the rest of that tenant's, then those of the tenants after it."""
    ids = among.order_by("tenant", "pk").values_list("tenant_id", "pk")
    rest: list[tuple[int, UUID]] = []
    if sweep.after_task and str(sweep.after_tenant) not in sweep.full:
        rest = list(ids.filter(tenant=sweep.after_tenant, pk__gt=sweep.after_task)[:WALK])
    return rest + list(ids.filter(tenant__gt=sweep.after_tenant)[: WALK - len(rest)])


def _in_order(letters: QuerySet[Task]) -> QuerySet[Task]:
    return letters.order_by("tenant", "pk").select_related("tenant").only("tenant__slug")


def _move_past(sweep: Sweep, place: tuple[int, UUID]) -> None:
    sweep.after_tenant, sweep.after_task = place


def _finish(sweep: Sweep, found: Found) -> None:
    """With a count of what is left: of each tenant that was full, no further than is cheap."""
    sweep.state = Sweep.State.FINISHED
    said = []
    for key, why in list(sweep.full.items())[:TENANTS_TOLD]:
        theirs = found.letters.filter(tenant=key, finished_at__lte=sweep.until)
        left = Found(theirs, found.among.filter(tenant=key)).matching()
        sweep.refused += left.count
        said += [f"{left} left: {why}."] if left.count else []
    if more := len(sweep.full) - TENANTS_TOLD:
        said += [f"{counted(more, 'more tenant')} are over their limits."] if more > 0 else []
    sweep.note = " ".join(said)


def _save(sweep: Sweep) -> None:
    sweep.save()
    if sweep.action_id is not None:  # entries are pruned after a year
        OperatorAction.objects.filter(pk=sweep.action_id).update(
            done=sweep.done, refused=sweep.refused, note=told(sweep)
        )


def _perform(operation: Operation, batch: Sequence[Task]) -> tuple[int, dict[int, ledger.Full]]:
    full: dict[int, ledger.Full] = {}
    match operation:
        case Operation.REDRIVE:
            return len(ledger.redrive_what_fits(batch, full)), full
        case Operation.DISCARD:
            return ledger.discard([task.pk for task in batch]), full
        case Operation.CANCEL | Operation.RUN_NOW:
            raise ValueError(f"Dead letters cannot be swept by {operation}.")
        case _:
            assert_never(operation)
