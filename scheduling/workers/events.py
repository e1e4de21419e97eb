"""What a program that watches the workers is told of their life, beside the log that people read."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from scheduling.workers.board import Tally
from scheduling.workers.options import Options


class Event(StrEnum):
    STARTED = "started"
    PROCESS_STARTED = "process_started"
    PROCESS_ENDED = "process_ended"
    RUNNING = "running"
    """Once a minute."""
    STOPPING = "stopping"
    """Asked to, or a second time: at once."""
    STOPPED = "stopped"


Tell = Callable[[Event, dict[str, Any]], None]


def nobody(event: Event, told: dict[str, Any]) -> None:
    """Is told nothing."""


def as_told(options: Options) -> dict[str, Any]:
    return {
        "processes": options.processes,
        "threads": options.threads,
        "queues": sorted(options.queues) if options.queues else None,
        "lease_seconds": options.lease.total_seconds(),
        "grace_seconds": options.grace.total_seconds(),
    }


def counted(tally: Tally, in_flight: int) -> dict[str, Any]:
    return {
        "done": tally.done,
        "failed": tally.failed,
        "retried": tally.retried,
        "refused": tally.refused,
        "in_flight": in_flight,
    }
