"""What a scene lays out for the processes that play in it: its folder, its database, and the log of starts.

Handlers, our own and the peers', write a line when they start. Instants are of the monotonic clock, which
all processes of a machine share, so a wall clock that is set does not bend a measurement.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

FOLDER = "RENTROLL_BENCH_FOLDER"
ADDRESS = "RENTROLL_BENCH_ADDRESS"
LOG = "starts.log"

_log: TextIO | None = None


def folder() -> Path:
    """Where the scene keeps its files."""
    return Path(os.environ[FOLDER])


def address() -> str:
    """The URL of the scene's own, empty database, or of its Redis."""
    return os.environ[ADDRESS]


def note_start(number: int, sent_at: float) -> None:
    """For handlers. One line is one write, so processes and threads may share the file."""
    global _log
    if _log is None:
        _log = (folder() / LOG).open("a", buffering=1)
    _log.write(f"{number} {sent_at} {time.monotonic()}\n")


@dataclass(frozen=True, slots=True)
class Start:
    """One line of the log: a task's number, and when it was sent and started, in monotonic seconds."""

    number: int
    sent_at: float
    started_at: float

    @property
    def waited_ms(self) -> float:
        return (self.started_at - self.sent_at) * 1000


def parse(line: str) -> Start:
    number, sent_at, started_at = line.split()
    return Start(int(number), float(sent_at), float(started_at))


def starts(scene_folder: Path) -> list[Start]:
    """Those that were logged so far. A line that is being written is left for the next look."""
    path = scene_folder / LOG
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [parse(line) for line in lines if line.endswith("\n")]


def starts_counted(scene_folder: Path) -> int:
    """How many were logged so far, at the price of a read and no parsing."""
    path = scene_folder / LOG
    return path.read_bytes().count(b"\n") if path.exists() else 0
