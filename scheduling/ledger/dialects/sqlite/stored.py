"""How values stand in SQLite's columns, and are read back from there."""

import json
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

from scheduling.ledger.dialects.values import Token
from scheduling.ledger.values import NewTask

logger = logging.getLogger(__name__)

Decoded = TypeVar("Decoded")


def task_row(task_id: UUID, task: NewTask, now: datetime) -> tuple[Any, ...]:
    return (
        task_id.hex,
        task.tenant_id,
        task.name,
        task.queue,
        task.args_json,
        task.kwargs_json,
        task.priority,
        task.max_attempts,
        task.timeout_seconds,
        text(task.deadline) if task.deadline else None,
        task.idempotency_key,
        task.fingerprint,
        text(now),
        task.trace_context,
        task.label,
    )


def hexes(ids: Collection[UUID]) -> str:
    return json.dumps([one.hex for one in ids])


def tokens(many: Sequence[Token]) -> str:
    return json.dumps([(task.hex, generation, worker.hex) for task, generation, worker in many])


@lru_cache(maxsize=4096)
def text(at: datetime) -> str:
    """As Django stores it: naive UTC. The same few instants are written many times over."""
    return str(at.astimezone(UTC).replace(tzinfo=None))


def instant(stored: str) -> datetime:
    """Columns are read as text (`|| ''`), because the driver's own parsing is slower, and all or nothing."""
    return datetime.fromisoformat(stored).replace(tzinfo=UTC)


def instant_or_none(stored: str | None) -> datetime | None:
    return None if stored is None else instant(stored)


def read(rows: Iterable[Any], decode: Callable[[Any], Decoded]) -> tuple[list[Decoded], list[Any]]:
    """What the rows say, and the keys of those that say nothing: SQLite keeps whatever somebody writes by hand.

    One such row must not keep the others from being read. `checkledger` tells of what it leaves behind.
    """
    decoded, broken = [], []
    for row in rows:
        try:
            decoded.append(decode(row))
        except (AttributeError, TypeError, ValueError) as error:
            logger.error("The ledger holds a row that cannot be read (task %r): %s", row[0], error)
            broken.append(row[0])
    return decoded, broken
