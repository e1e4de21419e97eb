"""`manage.py stats`: the ledger as it stands."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from scheduling import durations
from scheduling.ledger.survey import LaneFigures, Survey, TenantFigures, survey
from scheduling.management.columns import aligned
from scheduling.models import Pause, WorkerProcess
from scheduling.models.throughput import TALLIED
from tenants.management.plain import TellingCommand

STATES = ("ready", "held", "scheduled", "running", "dead")
SO_FAR = (*TALLIED, "refused")
HEADING = ("tenant", *STATES, "oldest ready")


class Command(TellingCommand):
    help = (
        "Say what waits, runs and is dead, tenant by tenant, who works, and what is paused. Ready is what "
        "may start, held what a pause keeps from it, scheduled what is due later."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        found = survey()
        if options["json"]:
            self.tell_as_json(as_json(found))
        else:
            self.stdout.write("\n\n".join((tenants(found), workers(found), pauses(found))))


def tenants(found: Survey) -> str:
    if not found.tenants:
        return "There is no tenant. Make one with `manage.py createtenant`."
    rows = [(one.tenant.slug, one.lanes) for one in found.tenants]
    if len(rows) > 1:
        rows.append(("all", found.lanes))
    return aligned([HEADING, *((slug, *figures(found, lanes)) for slug, lanes in rows)])


def figures(found: Survey, lanes: Sequence[LaneFigures]) -> Iterator[object]:
    for state in STATES:
        yield sum(getattr(lane, state) for lane in lanes)
    yield durations.spelled(oldest(found, lanes)) or "-"


def oldest(found: Survey, lanes: Sequence[LaneFigures]) -> timedelta:
    return max((found.age(lane) for lane in lanes), default=timedelta())


def workers(found: Survey) -> str:
    if not found.workers:
        return "No worker is there. Start some with `manage.py runworkers`."
    rows = [(place(one), one.slots, seen(found, one), served(one)) for one in found.workers]
    return aligned([("worker", "slots", "seen", "queues"), *rows])


def place(worker: WorkerProcess) -> str:
    return f"{worker.host}:{worker.pid}"


def seen(found: Survey, worker: WorkerProcess) -> str:
    ago = durations.spelled(max(found.now - worker.seen_at, timedelta())) or "0s"
    return f"{ago} ago" if worker in found.alive else f"{ago} ago, silent"


def served(worker: WorkerProcess) -> str:
    return ", ".join(worker.queues) or "every queue"


def pauses(found: Survey) -> str:
    return (
        "\n".join(f"paused: {described(pause)}" for pause in found.pauses) or "Nothing is paused."
    )


def described(pause: Pause) -> str:
    until = f", until {pause.expires_at:%F %T} UTC" if pause.expires_at else ""
    why = f": {pause.reason}" if pause.reason else ""
    return f"{pause.scope}, since {pause.since:%F %T} UTC{until}, by {pause.paused_by}{why}"


def as_json(found: Survey) -> dict[str, Any]:
    return {
        "now": found.now,
        "tenants": [tenant_as_json(one, found) for one in found.tenants],
        "workers": [worker_as_json(one, found) for one in found.workers],
        "pauses": [pause_as_json(pause) for pause in found.pauses],
        "unfinished": found.unfinished,
        "max_unfinished": found.most_unfinished,
        "overdue_leases": found.overdue_leases,
        **found.sizes,
    }


def tenant_as_json(one: TenantFigures, found: Survey) -> dict[str, Any]:
    return {
        "tenant": one.tenant.slug,
        **counts(found, one.lanes),
        "queues": [{"queue": lane.queue, **counts(found, [lane])} for lane in one.lanes],
        "so_far": {"accepted": one.accepted, **{name: one.totals[name] for name in SO_FAR}},
    }


def counts(found: Survey, lanes: Sequence[LaneFigures]) -> dict[str, float]:
    sums = {state: sum(getattr(lane, state) for lane in lanes) for state in STATES}
    return {**sums, "oldest_ready_seconds": oldest(found, lanes).total_seconds()}


def worker_as_json(worker: WorkerProcess, found: Survey) -> dict[str, Any]:
    return {
        "id": worker.pk,
        "host": worker.host,
        "pid": worker.pid,
        "slots": worker.slots,
        "queues": worker.queues,
        "seen_at": worker.seen_at,
        "alive": worker in found.alive,
    }


def pause_as_json(pause: Pause) -> dict[str, Any]:
    return {
        "scope": pause.scope,
        "reason": pause.reason,
        "by": pause.paused_by,
        "since": pause.since,
        "expires_at": pause.expires_at,
    }
