"""Wall clocks that can be set: those of single processes, through libfaketime, which reads a file for each."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

HOUR = 3600
PLACES = ("/usr/lib/*/faketime", "/usr/lib/faketime", "/usr/local/lib/faketime")
SHARED = Path("/dev/shm")
CLOCKED = Path(__file__).with_name("clocked")
PROJECT = CLOCKED.parents[2]


def library(name: str = "libfaketimeMT.so.1") -> Path | None:
    """Where it is installed (Debian: `faketime`), or None."""
    root = Path("/")
    found = (file for place in PLACES for file in root.glob(f"{place[1:]}/{name}"))
    return next(found, None)


class Clock:
    """The time of day of the processes that are started with its environment. Monotonic clocks go on as ever."""

    def __init__(self, file: Path, library: Path) -> None:
        self._file = file
        self.step(0)
        self.environment = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_CACHE_DURATION": "1",  # seconds until it looks into the file again
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": os.pathsep.join(map(str, (CLOCKED, PROJECT))),
        }

    def step(self, seconds: int) -> None:
        """So far from the true time, from the next second on."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.chmod(0o644)
        new.replace(self._file)


def forget(pids: Iterable[int]) -> None:
    """Remove what the library leaves in shared memory when a process that uses it is killed."""
    for pid in pids:
        for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
            with suppress(FileNotFoundError):
                os.unlink(SHARED / name)  # noqa: PTH108
