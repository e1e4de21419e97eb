"""Creating, editing and deleting recurring tasks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from scheduling.conf import conf
from scheduling.errors import (
    Changed,
    DeclaredInCode,
    InvalidTask,
    NameTaken,
    TooManyRecurring,
    UnknownRecurring,
)
from scheduling.ledger import wake
from scheduling.ledger.dialects import dialect
from scheduling.ledger.recurring import waiting
from scheduling.ledger.recurring.account import account
from scheduling.ledger.recurring.form import TIMING, fill
from scheduling.ledger.recurring.rule import move_to
from scheduling.ledger.recurring.values import NewRecurring
from scheduling.models import RecurringTask, Tick
from scheduling.models.written import WrittenJSON
from scheduling.options import REASON_LENGTH_MAX
from tenants.models import Tenant

NO_LONGER = "Code does not declare it any more."
NOT_EDITABLE = {"tenant_id", "paused", "paused_reason"}
CHUNK = 1000
"""Ticks that are deleted in one transaction."""


def create_recurring(
    new: NewRecurring,
    *,
    now: datetime | None = None,
    declaration: Mapping[str, object] | None = None,
) -> RecurringTask:
    """Keep a new recurring task. Its first tick is the first instant of its rule after now.

    Raises InvalidTask naming the fields at fault, NameTaken, or TooManyRecurring.
    """
    row = RecurringTask(tenant_id=new.tenant_id, paused=new.paused, paused_reason=new.paused_reason)
    fill(row, {name: value for name, value in asdict(new).items() if name not in NOT_EDITABLE})
    if declaration is not None:
        row.declared_in_code, row.declaration = True, dict(declaration)
    row.created_at = now or dialect().now()
    move_to(row, row.created_at)
    with transaction.atomic():
        _require_place(new.tenant_id)
        _save(row, force_insert=True)
        wake.after_commit(wake.TICK)
    return row


def _require_place(tenant_id: int) -> None:
    """The tenant is locked until commit, so that no two take the last place. Raises InvalidTask, TooManyRecurring."""
    if not Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id).first():
        raise InvalidTask({"tenant": "There is no such tenant."})
    most = conf().TENANT_MAX_RECURRING
    if most and RecurringTask.objects.filter(tenant=tenant_id).count() >= most:
        raise TooManyRecurring(most)


def edit_recurring(
    recurring_id: UUID,
    changes: Mapping[str, object],
    *,
    version: int | None = None,
    now: datetime | None = None,
    declaration: Mapping[str, object] | None = None,
    beside: Callable[[RecurringTask], object] | None = None,
) -> RecurringTask:
    """Change fields, all or none. What has come by then is accounted for by the rule as it was.

    A changed rule holds for the instants after now. What was wrong with a disabled row is mended by this.
    A row that lay still for long is caught up with in several transactions, so the caller has none open. `beside`
    is called in the last, with the row as it was edited: for what is to be there exactly when the edit is.
    Raises UnknownRecurring, Changed for another version than the current one, InvalidTask, or NameTaken.
    """
    now = now or dialect().now()
    while True:
        with transaction.atomic(durable=True):
            row = locked(recurring_id)
            require_version(row, version)
            if not catch_up(row, now, before_their_jitter=not TIMING.isdisjoint(changes)):
                continue  # in chunks: it may have lain still for years
            _edit(row, changes, now)
            if declaration is not None:
                row.declared_in_code, row.declaration = True, dict(declaration)
            _save(row)
            wake.after_commit(wake.TICK)
            if beside:
                beside(row)
            return row


def _edit(row: RecurringTask, changes: Mapping[str, object], now: datetime) -> None:
    before = {field: getattr(row, field) for field in TIMING}
    fill(row, changes)
    row.disabled_reason = ""
    row.version += 1
    if any(getattr(row, field) != was for field, was in before.items()):
        move_to(row, max(now, row.reached_at))
    else:
        move_to(row, row.reached_at)


def catch_up(row: RecurringTask, now: datetime, *, before_their_jitter: bool) -> bool:
    """Account for what has come of a row that is locked; False: for a part, and it takes another transaction.

    With a new rule nobody would look any more at what only waits for its jitter by the old one.
    """
    was_silent = row.is_silent
    if was_silent:
        hush(row, now)
    done = account([row], now, silent_ones_too=was_silent, before_their_jitter=before_their_jitter)
    return not done.goes_on and row.is_silent == was_silent


def store_state(row: RecurringTask) -> None:
    """All but what is JSON: it stays as it is, even if it cannot be read."""
    row.save(
        update_fields=[
            field.name
            for field in row._meta.concrete_fields
            if not (field.primary_key or isinstance(field, WrittenJSON))
        ]
    )


def hush(row: RecurringTask, now: datetime) -> None:
    """What has come of a silent row, and was not accounted for before, was missed. The caller saves the row."""
    why = f"It was paused: {row.paused_reason}" if row.paused else row.disabled_reason
    row.silent_until, row.silent_because = now, why.removesuffix(": ")[:REASON_LENGTH_MAX]


def retire_recurring(recurring_id: UUID, *, now: datetime | None = None) -> None:
    """Disable one that code declares no longer. Whoever edits or resumes it then makes it their own.

    Nothing happens to one that was retired already: somebody may have made it their own since.
    """
    now = now or dialect().now()
    with transaction.atomic():
        row = locked(recurring_id)
        if not row.declared_in_code:
            return
        row.declared_in_code, row.disabled_reason, row.fires_at = False, NO_LONGER, None
        row.version += 1
        store_state(row)
        waiting.miss([row.pk], NO_LONGER, now)


def retired_recurring(names: Iterable[str]) -> QuerySet[RecurringTask]:
    """Those of these names that code declared, and that are as `retire_recurring` left them. With their tenants."""
    retired = RecurringTask.objects.filter(declared_in_code=False, disabled_reason=NO_LONGER)
    return retired.filter(name__in=set(names)).select_related("tenant")


def delete_recurring(recurring_id: UUID, *, version: int | None = None) -> None:
    """Delete it with its ticks; the tasks that they made stay. Raises UnknownRecurring, Changed, DeclaredInCode.

    Its ticks may be many, and go in several transactions, so the caller has none open.
    """
    with transaction.atomic(durable=True):
        row = locked(recurring_id)
        require_version(row, version)
        if row.declared_in_code:
            raise DeclaredInCode(row.name)
        row.disabled_reason, row.fires_at = "It is being deleted.", None
        row.save(update_fields=["disabled_reason", "fires_at"])
    while _delete_some_ticks(recurring_id):
        pass
    with transaction.atomic():
        locked(recurring_id).delete()


def _delete_some_ticks(recurring_id: UUID) -> int:
    ids = list(Tick.objects.filter(recurring=recurring_id).values_list("pk", flat=True)[:CHUNK])
    if ids:
        Tick.objects.filter(pk__in=ids).delete()
    return len(ids)


def locked(recurring_id: UUID) -> RecurringTask:
    """The row, locked until commit. Raises UnknownRecurring."""
    rows = RecurringTask.objects.select_for_update(no_key=True)
    row = rows.filter(pk=recurring_id).first()
    if row is None:
        raise UnknownRecurring(recurring_id)
    return row


def require_version(row: RecurringTask, version: int | None) -> None:
    if version is not None and version != row.version:
        raise Changed(version, row.version)


def _save(row: RecurringTask, *, force_insert: bool = False) -> None:
    """Raises NameTaken. It is the only constraint that what was checked can meet."""
    try:
        with transaction.atomic():
            row.save(force_insert=force_insert)
    except IntegrityError as error:
        others = RecurringTask.objects.filter(tenant=row.tenant_id, name=row.name)
        if others.exclude(pk=row.pk).exists():
            raise NameTaken(row.name) from error
        raise
