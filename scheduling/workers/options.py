"""What an operator may choose about the workers of one machine."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """As given to `manage.py runworkers`."""

    processes: int = 1
    threads: int = 8
    """Slots in each process: handlers that run at once."""
    queues: frozenset[str] | None = None
    """None: every queue."""
    lease: timedelta = timedelta(seconds=30)
    grace: timedelta = timedelta(seconds=30)
    """How long handlers may go on after the workers were asked to stop."""

    def __str__(self) -> str:
        queues = ", ".join(sorted(self.queues)) if self.queues else "every queue"
        return (
            f"{self.processes} x {self.threads} slots, {queues}, "
            f"leases of {self.lease.total_seconds():g} s, {self.grace.total_seconds():g} s of grace"
        )
