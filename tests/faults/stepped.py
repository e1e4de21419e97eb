"""A time of day that a test sets while programs run: libfaketime, which they load before anything else.

Clocks that nobody can set, such as the monotonic one, run on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from scheduling import clock

LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
NAMES = ("*/faketime/libfaketimeMT.so.1", "faketime/libfaketimeMT.so.1")
SHARED_MEMORY = Path("/dev/shm")


class Steps:
    """The time of day of those programs that are started with `environment`."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "time-of-day"
        self.environment = {
            "LD_PRELOAD": library(),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self._real_now = clock.now
        self.by = timedelta()
        self.set(timedelta())

    def now(self) -> datetime:
        """By the clock that is set."""
        return self._real_now() + self.by

    def set(self, by: timedelta) -> None:
        """So far from the real time, from now on and in all of them at once."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{by.total_seconds():+.0f}\n")
        new.chmod(0o644)
        new.replace(self._file)
        self.by = by


def library() -> str:
    """Skips where there is none."""
    for folder in map(Path, LIBRARIES):
        for name in NAMES:
            for found in folder.glob(name):
                return str(found)
    pytest.skip("Needs libfaketime (the package faketime), which is not installed.")


@contextmanager
def no_litter() -> Iterator[None]:
    """Programs that were killed leave shared memory of the library's behind: away with it in the end."""
    before = set(SHARED_MEMORY.glob("*faketime*"))
    yield
    for left in set(SHARED_MEMORY.glob("*faketime*")) - before:
        if not Path("/proc", left.name.rpartition("_")[2]).exists():
            left.unlink()


@contextmanager
def this_process_as_well(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For as long as the block lasts."""
    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", steps.now)
        yield
