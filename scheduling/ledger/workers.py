"""The register of worker processes: who is alive, and who is known to be gone."""

import os
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from scheduling.ledger.dialects import dialect
from scheduling.models import Lease, WorkerProcess

FORGET_AFTER = timedelta(days=1)
"""A registration that was not seen for so long, and holds no lease, is dropped."""


def host_life() -> str:
    """Names this boot of this host, and the process namespace: where a pid means one process, or none.

    Empty where the system does not tell; then nobody is ever known to be gone.
    """
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    return ""


def started_ticks(pid: int) -> int:
    """When the kernel started that process, in clock ticks since boot. 0: there is no such process."""
    with suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text()
        state, *fields = stat.rpartition(")")[2].split()
        return 0 if state in "ZX" else int(fields[18])
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """One life of a worker process. Made by the process itself."""

    id: UUID = field(default_factory=uuid4)
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    version: str = ""
    queues: tuple[str, ...] = ()
    slots: int = 1


def register(worker: Registration, *, now: datetime | None = None) -> None:
    now = now or dialect().now()
    WorkerProcess.objects.create(
        id=worker.id,
        host=worker.host,
        pid=worker.pid,
        host_life=host_life(),
        started_ticks=started_ticks(worker.pid),
        version=worker.version,
        queues=list(worker.queues),
        slots=worker.slots,
        started_at=now,
        seen_at=now,
    )


def seen(worker_id: UUID, *, now: datetime | None = None) -> bool:
    """Say that the worker lives. Also drops registrations that nobody has seen for a day.

    False: it is not on the register. A clock that is set forward by a day makes others forget the living.
    """
    now = now or dialect().now()
    is_known = WorkerProcess.objects.filter(pk=worker_id).update(seen_at=now) > 0
    forgotten = WorkerProcess.objects.filter(seen_at__lt=now - FORGET_AFTER)
    forgotten.exclude(pk__in=Lease.objects.values("worker")).delete()
    return is_known


def sign_off(worker_id: UUID) -> None:
    WorkerProcess.objects.filter(pk=worker_id).delete()


def workers_known_gone() -> list[UUID]:
    """Workers of this host whose process has certainly ended: its pid is gone, or another's.

    Says nothing about other hosts, other containers on this one, or the time before a reboot: host names
    and pids recur, so those leases wait until they have been silent for their length.
    """
    here = host_life()
    if not here:
        return []
    rows = WorkerProcess.objects.filter(host_life=here).values_list("pk", "pid", "started_ticks")
    return [pk for pk, pid, ticks in rows if started_ticks(pid) != ticks]
