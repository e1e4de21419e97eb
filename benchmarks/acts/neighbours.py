"""Two tenants on one ledger: a loud one, and one that sends a task now and then."""

import time
from typing import Any, cast

from django.core.management import call_command

from benchmarks.peers.ours import create_tenant, slug
from benchmarks.prompter import cue
from benchmarks.tasks import noop, sleepy
from scheduling.backend import LedgerBackend
from scheduling.compat import default_task_backend

LOUD, QUIET = slug(0), slug(1)
LOUD_NUMBER = 0
"""All of the loud tenant's tasks have it; the quiet one's count from 1."""
BATCH = 500


def prepare(**limits_of_the_loud: Any) -> None:
    call_command("migrate", verbosity=0)
    create_tenant(LOUD, **limits_of_the_loud)
    create_tenant(QUIET)


def flood(count: int, task_seconds: float) -> None:
    """All at once, in calls of 500."""
    task = sleepy.using(tenant=LOUD)
    backend = cast("LedgerBackend", default_task_backend)
    cue()
    for first in range(0, count, BATCH):
        size = min(BATCH, count - first)
        now = time.monotonic()
        backend.bulk_enqueue([(task, [LOUD_NUMBER, now, task_seconds], {})] * size)


def send(count: int, every_seconds: float, *, tenant: str) -> None:
    """One no-op task at every beat."""
    task = noop.using(tenant=tenant)
    cue()
    begun = time.monotonic()
    for number in range(1, count + 1):
        time.sleep(max(begun + number * every_seconds - time.monotonic(), 0))
        task.enqueue(number, time.monotonic())
