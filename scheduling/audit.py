"""Owns the record of what operators do: in the console, and over the API with tokens.

An entry belongs into the transaction that does what it tells of, so that neither is there without the other.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from scheduling.ledger.dialects import dialect
from scheduling.models import OperatedTask, OperatorAction
from tenants.models import Tenant

Via = OperatorAction.Via


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a user of the console by name, or a token by its prefix."""

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


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
