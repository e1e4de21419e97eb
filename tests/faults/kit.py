"""Real worker processes on the ledger of the test, and a short way to watch what they do."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import connection

from scheduling.models import Lease, Task, WorkerProcess
from tenants.models import Tenant
from tests.installation import MANAGE
from tests.waiting import until

PATIENCE = 40
"""Seconds after which what never ends is a failure."""


def database_url() -> str:
    """Of the database that this test is connected to."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()


class Effects:
    """What handlers appended, and the gates they wait at."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "effects"

    def lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    def wait_for(self, line: str, **options: Any) -> None:
        until(lambda: line in self.lines(), what=f"for {line!r}", **options)

    def open_gate(self, name: str) -> None:
        self.path.with_name(name).touch()


class Workers:
    """One `runworkers`: a supervisor and its processes, in a process group of their own."""

    def __init__(
        self,
        effects: Effects,
        log: Path,
        *arguments: str,
        settings: str = "tests.settings",
        command: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`command` runs what follows it, such as on another host; `environment` is added to ours."""
        self.log = log
        self._all_gone, kept_by_them = os.pipe()  # at its end when the last of them has ended
        with log.open("a") as output:
            self.supervisor = subprocess.Popen(
                [*command, sys.executable, str(MANAGE), "runworkers", *arguments],
                env={
                    **os.environ,
                    "DJANGO_SETTINGS_MODULE": settings,
                    "DATABASE_URL": database_url(),
                    "EFFECTS": str(effects.path),
                    **(environment or {}),
                },
                stdout=output,
                stderr=output,
                pass_fds=[kept_by_them],
                start_new_session=True,
            )
        os.close(kept_by_them)

    def signal(self, signum: signal.Signals) -> None:
        """To the supervisor alone."""
        self.supervisor.send_signal(signum)

    def kill_all(self) -> None:
        """Supervisor and processes at once, as when a machine loses power."""
        with suppress(ProcessLookupError):
            os.killpg(self.supervisor.pid, signal.SIGKILL)
        self.wait()

    def stop(self) -> None:
        """Ask to stop, and wait for the end of every process."""
        self.signal(signal.SIGTERM)
        self.wait()

    def wait(self) -> None:
        """Until supervisor and processes have ended."""
        self.supervisor.wait(timeout=PATIENCE)
        ended, _, _ = select.select([self._all_gone], [], [], PATIENCE)
        assert ended, "worker processes outlive their supervisor"

    def said(self) -> str:
        return self.log.read_text()


def enqueue(task: Any, *args: Any, tenant: Tenant, **options: Any) -> UUID:
    return UUID(task.using(tenant=tenant, **options).enqueue(*args).id)


def the_task(task_id: UUID) -> Task:
    return Task.objects.get(pk=task_id)


def outcomes(task_id: UUID) -> list[str]:
    """Of the attempts, in the order of their generations."""
    return list(the_task(task_id).history.values_list("outcome", flat=True))


def wait_for_state(task_id: UUID, state: str, **options: Any) -> Task:
    until(
        lambda: the_task(task_id).state == state,
        what=f"for {task_id} to be {state}",
        **options,
    )
    return the_task(task_id)


def pid_that_runs(task_id: UUID) -> int:
    """Of the worker process that holds the task."""
    lease = until(lambda: Lease.objects.filter(pk=task_id).first())
    assert lease is not None
    return WorkerProcess.objects.get(pk=lease.worker).pid
