"""An operation on all dead letters that match: begun by an operator, and worked off by workers step by step.

Redriving and discarding take a task out of the dead letters, so what is still to do is what still matches,
further on than the last step got. How far that was stands in the ledger: a sweep goes on where it stopped,
whichever process takes the next step, and one that is cancelled leaves the rest as it is.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import floor
from typing import Any, assert_never
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from scheduling import audit, ledger
from scheduling.audit import Actor
from scheduling.counts import counted
from scheduling.errors import Overloaded
from scheduling.ledger import wake
from scheduling.ledger.dialects import dialect
from scheduling.lists.letters import Found, over
from scheduling.lists.narrowing import COLUMNS, narrowed
from scheduling.models import OperatorAction, Sweep, Task
from tenants.models import Tenant

STEP = 100
"""Dead letters to a transaction: others who write wait for some twenty milliseconds, and have their turn."""
WALK = 1000
"""Dead letters that one step looks at, at most."""
MOST_SAVED_UP = timedelta(seconds=10)
"""Of a rate: what was held up for an hour does not redrive an hour's worth at once."""
TENANTS_TOLD = 20

INSTANTS = ("finished_after", "finished_before")
PARTS = frozenset({"tenant", "ids", *COLUMNS})
"""What can be asked for."""


def begin(
    operation: Sweep.Operation,
    asked: Mapping[str, Any],
    *,
    which: str,
    by: Actor,
    address: str = "",
    reason: str = "",
    per_second: float | None = None,
) -> Sweep:
    """From here on it is on record, and workers see to it.

    `asked` is as `narrowing` takes it, with the slug of a `tenant` and the `ids` that a search has found; `which`
    says it in words and `address` as the console does.
    """
    matching = found(asked).matching()
    now = dialect().now()
    with transaction.atomic():
        wake.after_commit(wake.SWEEP)
        return Sweep.objects.create(
            operation=operation,
            asked=_written(asked),
            which=which[:400],
            filters=address,
            until=now,
            per_second=per_second,
            expected=matching.count if matching.is_exact else None,
            begun_by=by.name[:150],
            begun_at=now,
            stepped_at=now,
            action=audit.record(by, operation, which, reason=reason, note="Begun."),
        )


def found(asked: Mapping[str, Any]) -> Found:
    """The dead letters that are asked for, as they are by now.

    ValueError for a part that is none of `PARTS`: without it more would match than was meant.
    """
    if strange := asked.keys() - PARTS:
        raise ValueError(f"Dead letters cannot be asked for by {', '.join(sorted(strange))}.")
    tasks, tenant = Task.objects.without_blobs().dead(), None
    if "tenant" in asked:
        tenant = Tenant.objects.filter(slug=asked["tenant"]).first()
        tasks = tasks.filter(tenant=tenant) if tenant else tasks.none()
    if "ids" in asked:
        tasks = tasks.filter(pk__among=asked["ids"])
    wanted = narrowed(tasks, asked, dialect().now(), tenant=tenant, by_label=False)
    return Found(wanted.tasks, wanted.tasks if wanted.among is None else wanted.among)


def following(after: int) -> int | None:
    """Of the sweeps under way, the one after that one, or else the first: each has its turn."""
    ids = Sweep.objects.under_way().order_by("pk").values_list("pk", flat=True)
    return ids.filter(pk__gt=after).first() or (ids.first() if after else None)


def step(sweep_id: int, *, now: datetime | None = None) -> bool:
    """The next few of it; whether it is worth while to go on at once. One transaction, with its part of the record.

    False as well while somebody else is at it (on PostgreSQL; on SQLite they wait for each other), while its
    rate allows nothing, while the ledger has no room, and when only a newer release knows what it asks for.
    """
    with transaction.atomic():
        mine = Sweep.objects.under_way().filter(pk=sweep_id).select_for_update(skip_locked=True)
        sweep = next(iter(mine), None)
        if sweep is None or sweep.asked.keys() - PARTS:
            return False
        if not (most := _allowance(sweep, now or dialect().now())):
            return False
        _step(sweep, most)
        _save(sweep)
    return sweep.state == Sweep.State.UNDER_WAY and not sweep.note


def cancel(sweep_id: int, by: Actor) -> None:
    """What is done stays done; the rest stays dead."""
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update().get(pk=sweep_id)
        if sweep.state == Sweep.State.UNDER_WAY:
            sweep.state = Sweep.State.CANCELLED
            sweep.note = "Cancelled: the rest is as it was."
            _save(sweep)
            audit.record(by, "cancel", f"the sweep: {sweep}", done=1, note=told(sweep))


def prune(*, before: datetime) -> int:
    """Delete the sweeps that were over before that instant; answers how many. The record keeps what they did."""
    over_since = Sweep.objects.exclude(state=Sweep.State.UNDER_WAY).filter(stepped_at__lt=before)
    return over_since.delete()[0]


def told(sweep: Sweep) -> str:
    """What was done, and what was not."""
    done = f"{counted(sweep.done, 'dead letter')} {sweep.get_operation_display()}."
    return f"{done} {sweep.note}".rstrip()


def _allowance(sweep: Sweep, now: datetime) -> int:
    """How many the next step, which is now, may take."""
    since = sweep.stepped_at
    if sweep.per_second is None:
        most = STEP
    else:
        longest = max(MOST_SAVED_UP, timedelta(seconds=1 / sweep.per_second))
        most = min(floor(min(now - since, longest).total_seconds() * sweep.per_second), STEP)
    if most > 0 or now < since:  # the clock was set back: from here on it saves up
        sweep.stepped_at = now
        sweep.save(update_fields=["stepped_at"])
    return max(most, 0)


def _step(sweep: Sweep, most: int) -> None:
    matching = found(_read(sweep.asked))
    candidates = _next(sweep, matching.among)
    standing = matching.letters.filter(
        pk__among=[task_id for _, task_id in candidates], finished_at__lte=sweep.until
    )
    batch = list(_in_order(standing.exclude(tenant__in=list(sweep.full)))[:most])
    done, full = _perform(Sweep.Operation(sweep.operation), batch)
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
        _finish(sweep, matching)


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


def _finish(sweep: Sweep, matching: Found) -> None:
    """With a count of what is left: of each tenant that was full, no further than is cheap."""
    sweep.state = Sweep.State.FINISHED
    said = []
    for key, why in list(sweep.full.items())[:TENANTS_TOLD]:
        theirs = matching.letters.filter(tenant=key, finished_at__lte=sweep.until)
        left = Found(theirs, matching.among.filter(tenant=key)).matching()
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


def _perform(
    operation: Sweep.Operation, batch: Sequence[Task]
) -> tuple[int, dict[int, ledger.Full]]:
    full: dict[int, ledger.Full] = {}
    match operation:
        case Sweep.Operation.REDRIVE:
            return len(ledger.redrive_what_fits(batch, full)), full
        case Sweep.Operation.DISCARD:
            return ledger.discard([task.pk for task in batch]), full
        case _:
            assert_never(operation)


def _written(asked: Mapping[str, Any]) -> dict[str, Any]:
    """For JSON: instants and ids as text."""
    written = {key: asked[key].isoformat() if key in INSTANTS else asked[key] for key in asked}
    return written | ({"ids": [str(one) for one in asked["ids"]]} if "ids" in asked else {})


def _read(written: Mapping[str, Any]) -> dict[str, Any]:
    read = {
        key: datetime.fromisoformat(value) if key in INSTANTS else value
        for key, value in written.items()
    }
    return read | ({"ids": [UUID(one) for one in written["ids"]]} if "ids" in written else {})
