"""What handlers do to the world: lines in one file, each written whole whoever else writes."""

import json
import os
from pathlib import Path
from typing import Protocol
from uuid import UUID

from scheduling import clock
from tests.chaos.records import Effect, Event

FILE = "CHAOS_EFFECTS"


class Told(Protocol):
    """What is known of an execution: by its context, or by its claim."""

    @property
    def task_id(self) -> UUID: ...
    @property
    def generation(self) -> int: ...
    @property
    def attempt(self) -> int: ...
    @property
    def tenant(self) -> str: ...


def note(context: Told, event: Event) -> None:
    """Append one line by one write: with O_APPEND the kernel keeps it in one piece."""
    line = json.dumps(
        [
            str(context.task_id),
            context.generation,
            context.attempt,
            context.tenant,
            event,
            clock.monotonic(),
            clock.now().timestamp(),
            os.getpid(),
        ]
    )
    file = os.open(os.environ[FILE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def read(path: Path) -> list[Effect]:
    """All there is, in the order of writing."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [parse(line) for line in lines]


def parse(line: str) -> Effect:
    task, generation, attempt, tenant, event, at, wall, pid = json.loads(line)
    return Effect(task, generation, attempt, tenant, Event(event), at, wall, pid)
