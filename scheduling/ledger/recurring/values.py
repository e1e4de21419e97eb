"""What goes into the verbs of recurring tasks and what comes out of them. Values, as those of the other verbs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from scheduling.policies import CATCHUP_WINDOW, Catchup, Overlap


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecurring:
    """A recurring task to be kept. Either `cron` or `every_seconds`.

    Whether the task is known, and the payload fits it, is for the edges to find out: the ledger knows no handlers.
    """

    tenant_id: int
    name: str
    task_name: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    queue: str = "default"
    priority: int = 0
    max_attempts: int = 3
    timeout_seconds: float | None = None
    deadline_seconds: float | None = None
    cron: str | None = None
    every_seconds: int | None = None
    anchor: datetime | None = None
    """None: an interval is counted from 1970-01-01T00:00Z, so whole hours begin on the hour."""
    timezone: str = "UTC"
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    jitter_seconds: int = 0
    overlap: str = Overlap.SKIP
    catchup: str = Catchup.ONE
    catchup_window_seconds: int = int(CATCHUP_WINDOW.total_seconds())
    pause_after_failures: int | None = None
    paused: bool = False
    paused_reason: str = ""


@dataclass(frozen=True, slots=True)
class Fired:
    """What a look at the recurring tasks did. Look again at once when it did anything."""

    fired: int
    """Tasks made."""
    looked_at: int
    """Recurring tasks of which something was accounted for."""
    next_look: datetime | None
    """When there is something to do, as far as is known now. None: nothing is planned."""
    now: datetime
    """The database's instant that this was decided at."""


@dataclass(frozen=True, slots=True)
class Backfilled:
    """What a backfill did with the instants of its range, or would do."""

    missing: Sequence[datetime]
    """There was no task for them."""
    fired: Sequence[datetime]
    """A task was made at once."""
    waiting: Sequence[datetime]
    """Will make a task, when their turn comes."""
    left_alone: int
    """Instants for which there was a task already."""
    goes_on_from: datetime | None = None
    """The first instant of the range that was not looked at. None: all were."""
