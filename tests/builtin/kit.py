"""A context as a worker would make it, for calling handlers directly."""

from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any
from uuid import UUID

from scheduling.context import Context
from scheduling.declaring import registry
from scheduling.ledger.values import Claim

TASK_ID = UUID("01a22884-91af-7689-963c-5d561265827f")
NOW = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)


def context_for(name: str, *, attempt: int = 1, cancelled: Event | None = None) -> Context:
    """The given attempt at task `TASK_ID` of tenant acme; its generation is 10 more than that."""
    claim = Claim(
        task_id=TASK_ID,
        worker=UUID(int=1),
        generation=10 + attempt,
        tenant_id=1,
        tenant="acme",
        lane_id=1,
        name=name,
        queue="default",
        args_json="[]",
        kwargs_json="{}",
        attempt=attempt,
        max_attempts=10,
        timeout_seconds=None,
        deadline=None,
        due_at=NOW,
        acquired_at=NOW,
        expires_at=NOW + timedelta(seconds=30),
    )
    return Context(claim, registry.get(name), cancelled or Event(), Event())


def perform(name: str, *, attempt: int = 1, cancelled: Event | None = None, **payload: Any) -> Any:
    """What the built-in task of that name returns or raises."""
    task = registry.get(name)
    registry.bind(task, [], payload)
    if not task.takes_context:
        return task.func(**payload)
    return task.func(context_for(name, attempt=attempt, cancelled=cancelled), **payload)
