"""The story of one task, from its rows: what it waited for, who ran it, and how that ended."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from scheduling.admin import bars
from scheduling.models import Attempt, Lease, Task, WorkerProcess
from scheduling.states import Outcome

ATTEMPTS_SHOWN = 50
REFUSALS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Refused:
    """A worker spoke for a lease that it no longer held."""

    verb: str
    worker: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt, or the one in flight: `finished_at` and `outcome` are None until it ends."""

    generation: int
    number: int
    worker: str
    due_at: datetime
    started_at: datetime
    finished_at: datetime | None
    outcome: str | None
    error: dict[str, Any]
    until: datetime
    """The end as far as it is known: of the attempt, or now."""
    refusals: list[Refused]
    """What was refused to this generation after it had lost its lease."""
    expires_at: datetime | None = None
    redriven_from: int | None = None
    """The generation that had left a dead letter, if this is the first run after it was redriven."""

    @property
    def waited(self) -> timedelta:
        return max(self.started_at - self.due_at, timedelta())

    @property
    def ran(self) -> timedelta:
        return max(self.until - self.started_at, timedelta())

    @property
    def css(self) -> str:
        return self.outcome or "running"

    @property
    def is_charged(self) -> bool:
        return self.outcome is None or Outcome(self.outcome).is_charged

    @property
    def is_overdue(self) -> bool:
        return self.expires_at is not None and self.expires_at < self.until


@dataclass(frozen=True, slots=True)
class Timeline:
    """The latest runs of a task in the order in which they happened."""

    runs: list[Run]
    earlier: bool
    """Whether there are attempts before those shown."""
    redriven_last: int | None = None
    """As of a run, when it was redriven and has not run since."""

    @property
    def spans(self) -> list[tuple[Run, bars.Span]]:
        """Each run with its bar, all to one scale."""
        longest = max((run.waited + run.ran for run in self.runs), default=timedelta())
        return [(run, bars.span(run.waited, run.ran, longest)) for run in self.runs]


def of(task: Task, now: datetime) -> Timeline:
    """Read it: the attempts, the refusals, and the names of the workers; the lease comes with the task."""
    attempts = list(task.history.order_by("-generation")[: ATTEMPTS_SHOWN + 1])
    refusals = list(task.refusals.order_by("-refused_at")[:REFUSALS_SHOWN])
    lease: Lease | None = getattr(task, "lease", None)
    shown = attempts[ATTEMPTS_SHOWN - 1 :: -1]
    workers = {row.worker for row in shown} | {row.worker for row in refusals}
    names = _names(workers | {lease.worker} if lease else workers)
    refused: dict[int, list[Refused]] = {}
    for row in reversed(refusals):
        entry = Refused(row.verb, names[row.worker], row.refused_at)
        refused.setdefault(row.generation, []).append(entry)
    runs = [_ended(attempt, names, refused.get(attempt.generation, [])) for attempt in shown]
    if lease:
        runs.append(_in_flight(task, lease, names, refused.get(lease.generation, []), now))
    return Timeline(
        _with_lineage(runs),
        earlier=len(attempts) > ATTEMPTS_SHOWN,
        redriven_last=_redriven_last(task, runs),
    )


def _with_lineage(runs: list[Run]) -> list[Run]:
    """Attempts are counted up, and anew only after a redrive."""
    told: list[Run] = []
    charged = 0
    for run in runs:
        is_anew = bool(told) and run.number <= charged
        told.append(replace(run, redriven_from=told[-1].generation) if is_anew else run)
        charged = run.number if run.is_charged else (0 if is_anew else charged)
    return told


def _redriven_last(task: Task, runs: list[Run]) -> int | None:
    last = runs[-1].generation if runs else None
    return last if last is not None and last == task.redriven_from else None


def _ended(attempt: Attempt, names: dict[UUID, str], refused: list[Refused]) -> Run:
    return Run(
        generation=attempt.generation,
        number=attempt.number,
        worker=names[attempt.worker],
        due_at=attempt.due_at,
        started_at=attempt.started_at,
        finished_at=attempt.finished_at,
        outcome=attempt.outcome,
        error=attempt.error or {},
        until=attempt.finished_at,
        refusals=refused,
    )


def _in_flight(
    task: Task, lease: Lease, names: dict[UUID, str], refused: list[Refused], now: datetime
) -> Run:
    return Run(
        generation=lease.generation,
        number=task.attempts + 1,
        worker=names[lease.worker],
        due_at=lease.due_at,
        started_at=lease.acquired_at,
        finished_at=None,
        outcome=None,
        error={},
        until=now,
        refusals=refused,
        expires_at=lease.expires_at,
    )


def _names(workers: set[UUID]) -> dict[UUID, str]:
    """Host and pid, as long as the worker is registered; afterwards its id has to do."""
    registered = WorkerProcess.objects.in_bulk(list(workers))
    return {
        worker: str(registered[worker]) if worker in registered else f"{worker} (gone)"
        for worker in workers
    }
