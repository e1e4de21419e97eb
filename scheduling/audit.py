"""Owns the record of what operators do: in the console, over the API with tokens, and on the command line.

An entry belongs into the transaction that does what it tells of, so that neither is there without the other.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F

from scheduling.ledger.dialects import dialect
from scheduling.models import OperatedTask, OperatorAction
from tenants.models import Tenant

Via = OperatorAction.Via
KEPT = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a user of the console or of the operating system by name, or a caller of the API by its token."""

    name: str
    via: Via


def record(
    actor: Actor,
    verb: str,
    what: str,
    *,
    tenant: Tenant | None = None,
    tasks: Iterable[UUID] = (),
    reason: str = "",
    done: int = 0,
    refused: int = 0,
    note: str = "",
    now: datetime | None = None,
) -> OperatorAction:
    """Write an entry. `tasks` are those picked by hand, whose pages show it; a sweep names none."""
    action = OperatorAction.objects.create(
        at=now or dialect().now(),
        via=actor.via,
        by=_cut(actor.name, 150),
        verb=_cut(verb, 40),
        what=_cut(what, 400),
        tenant=tenant,
        reason=_cut(reason, 500),
        done=done,
        refused=refused,
        note=note,
    )
    OperatedTask.objects.bulk_create(OperatedTask(action=action, task=task) for task in tasks)
    return action


def add(action: OperatorAction, *, done: int, refused: int) -> None:
    """The same goes on, in another transaction: what is done in steps has one entry all the same."""
    OperatorAction.objects.filter(pk=action.pk).update(
        done=F("done") + done, refused=F("refused") + refused
    )


def prune(*, before: datetime | None = None, limit: int = 1000) -> int:
    """Delete up to `limit` entries before an instant, a year ago unless told otherwise; answers how many."""
    before = before or dialect().now() - KEPT
    old = OperatorAction.objects.filter(at__lt=before).order_by("pk")
    with transaction.atomic():
        oldest = list(old.values_list("pk", flat=True)[:limit])
        OperatorAction.objects.filter(pk__in=oldest).delete()
    return len(oldest)


def _cut(text: str, longest: int) -> str:
    """As the ledger takes it: PostgreSQL has no text with NUL in it."""
    text = text.replace("\x00", "\ufffd")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
