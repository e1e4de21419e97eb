"""What on the dashboard needs a look, in sentences, the most pressing first."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.template.defaultfilters import filesizeformat

from scheduling.admin.figures import OFTEN_FAILED, Concern, Dashboard, Row
from scheduling.admin.words import lasting
from scheduling.conf import conf
from scheduling.counts import counted
from scheduling.ledger.storage import least_free_bytes
from scheduling.models.worker import SILENT_AFTER

TENANTS_NAMED = 5
SCARCE = 4
"""Times the room that the ledger needs at least: less than that on the disk is worth a word."""


@dataclass(frozen=True, slots=True)
class Notice:
    concern: Concern
    text: str
    tenants: tuple[Row, ...] = ()
    """Whom it is about: named behind it, with links."""
    others: int = 0
    """More that are not named."""
    recurring: str | None = None
    """It is about recurring tasks: what their list is asked for, to show which."""


def notices(dashboard: Dashboard) -> list[Notice]:
    found = [
        *_of_workers(dashboard),
        *_of_tenants(dashboard),
        *_of_leases(dashboard),
        *_of_recurring_tasks(dashboard),
        *_of_room(dashboard),
    ]
    return sorted(found, key=lambda notice: -notice.concern)


def _of_workers(dashboard: Dashboard) -> Iterator[Notice]:
    silent = [worker for worker in dashboard.workers if worker.is_silent]
    ready = dashboard.ready
    if len(silent) == len(dashboard.workers):
        waiting = f" {counted(ready, 'ready task')} with nobody to run them." if ready else ""
        yield Notice(Concern.ALARM if ready else Concern.WARN, f"No worker is alive.{waiting}")
    elif silent:
        who = counted(len(silent), "worker")
        yield Notice(Concern.WARN, f"{who} not heard of for {lasting(SILENT_AFTER)} or longer.")


def _of_tenants(dashboard: Dashboard) -> Iterator[Notice]:
    rows = dashboard.tenants
    full = [row for row in rows if row.waiting_concern is Concern.ALARM]
    yield from _about(full, Concern.ALARM, "At max_queued, new tasks are refused")
    nearly = [row for row in rows if row.waiting_concern is Concern.WARN]
    yield from _about(nearly, Concern.WARN, "Close to max_queued")
    late = sorted(
        (row for row in rows if row.latency_concern),
        key=lambda row: row.latency or row.now - row.now,
        reverse=True,
    )
    worst = max((row.latency_concern for row in late), default=Concern.NONE)
    yield from _about(late, worst, "Ready tasks wait for long")
    over = "Has more than its share of what runs while others wait"
    yield from _about(dashboard.over_share, Concern.WARN, over)
    failing = [row for row in rows if row.failure_concern]
    often = f"{OFTEN_FAILED:.0%} or more of the attempts of the last hour failed"
    yield from _about(failing, Concern.WARN, often)
    held = [row for row in rows if row.held]
    tasks = f"A pause holds back {counted(dashboard.held, 'ready task')}"
    yield from _about(held, Concern.NOTE, tasks)


def _of_leases(dashboard: Dashboard) -> Iterator[Notice]:
    if overdue := dashboard.sums.overdue:
        leases = f"Leases past their end: {overdue:,}."
        yield Notice(Concern.WARN, f"{leases} They are reaped as soon as a worker is sure.")
    if lost := dashboard.last_hour.lost:
        attempts = counted(lost, "attempt")
        yield Notice(Concern.WARN, f"{attempts} lost within the hour: workers died or fell silent.")
    if refused := dashboard.sums.refused:
        writes = counted(refused, "stale write")
        yield Notice(
            Concern.WARN,
            f"{writes} refused within the hour: workers spoke for leases they had lost.",
        )


def _of_recurring_tasks(dashboard: Dashboard) -> Iterator[Notice]:
    if disabled := dashboard.sums.recurring_disabled:
        which = f"{counted(disabled, 'recurring task')} disabled, and not fired any more."
        yield Notice(Concern.WARN, which, recurring="state=disabled")
    if overdue := dashboard.sums.recurring_overdue:
        which = f"{counted(overdue, 'recurring task')} overdue: nobody fires what has come."
        yield Notice(Concern.WARN, which, recurring="state=active")


def _of_room(dashboard: Dashboard) -> Iterator[Notice]:
    free, needed = dashboard.storage["free_bytes"], least_free_bytes()
    left = f"{filesizeformat(free)} free on the disk."
    if free < needed:
        yield Notice(Concern.ALARM, f"{left} No tasks are accepted below {filesizeformat(needed)}.")
    elif free < SCARCE * needed:
        yield Notice(Concern.WARN, f"{left} Below {filesizeformat(needed)} no tasks are accepted.")
    most = conf().LEDGER_MAX_QUEUED
    if most and dashboard.sums.unfinished >= most:
        yield Notice(Concern.ALARM, f"{most:,} tasks are unfinished: nobody's are accepted.")


def _about(rows: Iterable[Row], concern: Concern, text: str) -> Iterator[Notice]:
    named = tuple(rows)
    if named:
        others = max(len(named) - TENANTS_NAMED, 0)
        yield Notice(concern, text, named[:TENANTS_NAMED], others)
