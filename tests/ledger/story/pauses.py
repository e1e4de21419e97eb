"""The pauses of the model, and what they cover. No database."""

from dataclasses import dataclass
from datetime import datetime

from tests.ledger.story.task import ModelTask

Scope = tuple[str, str, str]
"""(tenant, queue, name) of a pause, "" for all of them."""


@dataclass
class ModelPause:
    since: datetime
    end: datetime | None
    was_met: bool = False
    """By a claim, which may have set aside what it covers until the pause is cleared away."""


def covers(scope: Scope, task: ModelTask) -> bool:
    parts = zip(scope, (task.tenant, task.queue, task.name), strict=True)
    return all(wanted in ("", actual) for wanted, actual in parts)


def parts(scope: Scope) -> int:
    return sum(map(bool, scope))
