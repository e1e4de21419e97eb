"""Programs that a run starts, again and again, and ends in any case: by process id, and only its own."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from scheduling.clock import monotonic
from tests.chaos import clocks
from tests.chaos.clocks import Clock

FOLDER = "CHAOS_FOLDER"
"""In the environment of every process of a run: by it a process id is known to be ours still."""
LOOK = 0.05


class Program:
    """A command in a process group of its own, with the processes that it forks."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        user: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = list(command)
        self._environment = {**environment, FOLDER: str(folder)}
        if clock:
            self._environment |= clock.environment
        self._mark = f"{FOLDER}={folder}".encode()
        self._user = user
        self.clock = clock
        self._lives: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self._user,
            )
        self._lives.append(process)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The latest one."""
        return self._lives[-1]

    def is_running(self) -> bool:
        return bool(self._lives) and self.process.poll() is None

    def children(self) -> list[int]:
        """Process ids, in their order."""
        return [pid for pid in members(self._mark, [self.process.pid]) if pid != self.process.pid]

    def everybody(self) -> list[int]:
        """Leader and children, also of earlier lives."""
        return members(self._mark, [life.pid for life in self._lives])

    def wait(self, seconds: float) -> bool:
        """Whether it ended in that time."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return not self.is_running()

    def end(self) -> None:
        """Every process of every life, now."""
        while pids := self.everybody():
            for pid in pids:
                send(pid, signal.SIGKILL)
            self._reap()
            time.sleep(LOOK)
        self._reap()
        clocks.forget(life.pid for life in self._lives)

    def _reap(self) -> None:
        for life in self._lives:
            life.poll()


def members(mark: bytes, groups: Sequence[int]) -> list[int]:
    """Living processes of those groups that carry the mark."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                if group_of(folder) in groups and mark in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
    return sorted(found)


def group_of(folder: Path) -> int:
    """Of the process at that place in /proc; 0 if it has ended and nobody took notice."""
    state, _, group, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
    return 0 if state in "ZX" else int(group)


def send(pid: int, signum: signal.Signals) -> bool:
    """Whether there was anybody to send it to."""
    with suppress(ProcessLookupError):
        os.kill(pid, signum)
        return True
    return False


def until_true(look: Callable[[], object], seconds: float) -> bool:
    """Whether it came true in that time."""
    ends_at = monotonic() + seconds
    while not look():
        if monotonic() > ends_at:
            return False
        time.sleep(LOOK)
    return True
