"""Waking other processes on one host: a named pipe for each listener, in a folder beside the ledger.

A byte into each pipe costs a few microseconds and needs nobody to serve it. A pipe that nobody reads any
more was left by a process that was killed, and is removed by whoever finds it.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from django.db import OperationalError

from scheduling.ledger.topics import TOPICS

NOBODY_READS = (errno.ENXIO, errno.EPIPE)
"""Nobody did any more when it was opened, or when it was written to."""


def wake(ledger: str, topic: str) -> None:
    """Put the topic's first letter into every pipe. A full pipe has woken its reader already."""
    with suppress(FileNotFoundError), os.scandir(_folder(ledger)) as pipes:
        for pipe in pipes:
            _put(pipe.path, topic[0].encode())


def _put(path: str, letter: bytes) -> None:
    try:
        _write(path, letter)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in NOBODY_READS:
            raise
        Path(path).unlink(missing_ok=True)


def _write(path: str, letter: bytes) -> None:
    pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        with suppress(BlockingIOError):
            os.write(pipe, letter)
    finally:
        os.close(pipe)


class FifoListener:
    def __init__(self, ledger: str) -> None:
        folder = Path(_folder(ledger))
        folder.mkdir(mode=0o700, exist_ok=True)
        self._path = folder / f"{os.getpid()}-{uuid4().hex}"
        hidden = folder.parent / f"{folder.name}-{self._path.name}"
        os.mkfifo(hidden, 0o600)
        # Open for writing as well, so that the pipe never reads as ended while nobody else writes.
        self._pipe = os.open(hidden, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        hidden.rename(self._path)  # only now can it be found, and it has a reader

    def fileno(self) -> int:
        return self._pipe

    def drain(self) -> set[str]:
        try:
            letters = os.read(self._pipe, 65536).decode()
        except BlockingIOError:
            return set()
        except OSError as error:
            raise OperationalError(f"The wake-up pipe broke: {error}") from error
        return {topic for topic in TOPICS if topic[0] in letters}

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._pipe)


def _folder(ledger: str) -> str:
    return f"{ledger}-wake"
