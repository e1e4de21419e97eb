"""One run: faults and load for a while, then calm until everything is over, then the verdict."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import httpx
from django.core.management import call_command
from django.db import Error, connections

from scheduling import ledger
from scheduling.clock import monotonic
from scheduling.models import Pause, Task, WorkerProcess
from scheduling.models.task import TaskQuerySet
from scheduling.states import TERMINAL
from tenants.models import ApiToken, Tenant
from tests.chaos import bills, effects, plan, remains, witness
from tests.chaos.cast import Cast, hire
from tests.chaos.faults import Faults
from tests.chaos.load import TENANTS, ZOMBIES_TENANT
from tests.chaos.processes import until_true
from tests.chaos.records import Records
from tests.chaos.stage import Stage
from tests.chaos.strikes import PATIENCE

Say = Callable[[str], None]

TO_START = 60.0
TO_DRAIN = 120.0
"""Seconds. Bounds for what never ends; retries and backlogs are short."""
PROGRESS = 2.0
LOOK = 0.1


def play(stage: Stage, seed: str, seconds: float, say: Say) -> Records:
    """All of it, up to the evidence."""
    lay_out()
    faults = Faults(stage)
    faults.keep_up()
    assert until_true(partial(is_ready, stage), TO_START), stage.web.log.read_text()
    cast = hire(stage, seed)
    observer = witness.Observer()
    observer.start()
    try:
        for actor in cast.everybody():
            actor.start()
        faults.run(plan.plan(seed, seconds, stage.possible()), seconds)
        say("faults stop")
        faults.calm()
    finally:
        faults.undo()
    cast.leave(meanwhile=faults.keep_up)
    drain(faults, say)
    observer.stop()
    stop(stage, faults)
    return evidence(stage, cast, faults, observer)


def evidence(stage: Stage, cast: Cast, faults: Faults, observer: witness.Observer) -> Records:
    """When everything has stopped."""
    return Records(
        lease=plan.LEASE,
        answers=[answer for actor in cast.everybody() for answer in actor.answers],
        pauses=[pause for switch in cast.switches for pause in switch.pauses],
        effects=effects.read(stage.effects),
        log=list(witness.entries()),
        samples=observer.samples,
        stalls=observer.stalls,
        faults=faults.strikes.done,
        tenants=remains.tenants(),
        tasks=remains.tasks(),
        attempts=remains.attempts(),
        bills=bills.read(),
        refusals=remains.refusals(),
        zombies=frozenset({os.getpid()}),
        complaints=[*faults.strikes.complaints, *cast.complaints(), *remains.complaints()],
    )


def lay_out() -> None:
    """Tables, triggers, tenants and tokens."""
    call_command("migrate", interactive=False, verbosity=0)
    witness.install()
    bills.install()
    for one in (*TENANTS, ZOMBIES_TENANT):
        tenant = Tenant.objects.create(
            slug=one.slug,
            weight=one.weight,
            max_in_flight=one.cap,
            max_queued=one.max_queued,
            rate_per_second=one.rate,
            rate_burst=10,
        )
        ApiToken.objects.issue(tenant=tenant, secret=one.secret)
    ApiToken.objects.issue(tenant=None, secret="token-operator")
    connections.close_all()


def is_ready(stage: Stage) -> bool:
    """Whether the API answers and every supervisor has a process that works."""
    with suppress(httpx.TransportError):
        web = httpx.get(f"{stage.web_url}/healthz").status_code == 200
        return web and WorkerProcess.objects.count() >= len(stage.supervisors)
    return False


def drain(faults: Faults, say: Say) -> None:
    """Until no task waits or runs, or patience ends: then a rule will say which."""
    ends_at = monotonic() + TO_DRAIN
    says_at = 0.0
    while monotonic() < ends_at:
        faults.keep_up()
        left = what_is_left()
        if left is None:
            return
        if monotonic() >= says_at:
            say(left)
            says_at = monotonic() + PROGRESS
        time.sleep(LOOK)


def what_is_left() -> str | None:
    """In words. None: nothing."""
    try:
        lift_what_stands()
        return progress(Task.objects.exclude(state__in=list(TERMINAL)))
    except Error as error:
        connections.close_all()
        return f"the ledger does not answer: {error}"


def progress(left: TaskQuerySet) -> str | None:
    """How many are left, and where the first of them stands. None: none are."""
    first = left.select_related("schedule", "lease").order_by("pk").first()
    if first is None:
        return None
    due = getattr(first, "schedule", None) and first.schedule.due_at
    held = getattr(first, "lease", None) and first.lease.worker
    return (
        f"{left.count():,} tasks are left, first {first} ({first.state}, generation "
        f"{first.generation}): " + (f"due at {due:%X}" if due else f"held by {held}")
    )


def lift_what_stands() -> None:
    """Pauses that somebody asked for, heard nothing of, and could not resume."""
    for pause in Pause.objects.filter(lifted_at=None).select_related("tenant"):
        ledger.resume(tenant=pause.tenant, queue=pause.queue, name=pause.name, by="chaos")


def stop(stage: Stage, faults: Faults) -> None:
    """By SIGTERM, as an operator does; what does not heed it is a fault of ours."""
    connections.close_all()
    for program in stage.programs:
        program.process.send_signal(signal.SIGTERM)
    for program in stage.programs:
        if not program.wait(PATIENCE):
            faults.strikes.complaints.append(f"{program.name} did not stop in {PATIENCE:g} s")
        program.end()
