"""Rentroll itself, by the same verbs: `task.enqueue()`, `bulk_enqueue` and `manage.py runworkers`."""

import time
from collections.abc import Sequence
from typing import Any, NoReturn, cast
from uuid import uuid4

from django.core.management import call_command

from benchmarks.peers import sending
from benchmarks.peers.command import become
from benchmarks.tasks import noop
from scheduling.backend import LedgerBackend
from scheduling.compat import default_task_backend
from tenants.models import Tenant

UNREACHED = 100_000_000
"""Limits are on, as every tenant has them, and high enough to refuse nothing that is measured."""


def slug(number: int) -> str:
    return f"tenant-{number}"


def create_tenant(name: str, **options: Any) -> Tenant:
    limits = {"max_queued": UNREACHED, "rate_per_second": UNREACHED, "rate_burst": UNREACHED}
    return Tenant.objects.create(slug=name, name=name, **{**limits, **options})


class Sender(sending.Sender):
    """Puts tasks into the lanes of so many tenants in turn, under idempotency keys or without."""

    def __init__(self, *, tenants: int = 1, keyed: bool = False) -> None:
        self._backend = cast("LedgerBackend", default_task_backend)
        self._tasks = [noop.using(tenant=slug(number)) for number in range(tenants)]
        self._key = uuid4().hex if keyed else ""

    def prepare(self) -> None:
        call_command("migrate", verbosity=0)
        for number in range(len(self._tasks)):
            create_tenant(slug(number))

    def enqueue(self, number: int) -> None:
        self._task(number).enqueue(number, time.monotonic())

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        now = time.monotonic()
        self._backend.bulk_enqueue([(self._task(number), [number, now], {}) for number in numbers])

    def _task(self, number: int) -> Any:
        task = self._tasks[number % len(self._tasks)]
        return task.using(idempotency_key=f"{self._key}-{number}") if self._key else task


def work(setting: str = "", arguments: Sequence[str] = ()) -> NoReturn:
    become("manage.py", "runworkers", *arguments)
