"""Whom to charge when a worker process dies: the handler that ended it, not its neighbours.

A handler that calls `os._exit` or sends its own process a signal confesses on the board first. One that
crashes the interpreter is named by `faulthandler`, which writes the crashing thread's id to a file the
supervisor keeps. Was the process killed from outside, any of the started handlers may be the reason (one
that eats all memory is killed by the kernel), and each is charged. What was not started never is.
"""

import faulthandler
import os
import re
import signal
from collections.abc import Callable, Collection
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import IO, Any
from uuid import UUID

from scheduling.workers.board import Board, Record, Stage

DEADLY = (
    (os, "_exit"),
    (os, "abort"),
    (os, "kill"),
    (os, "killpg"),
    (signal, "raise_signal"),
    (signal, "pthread_kill"),
)
"""What a process can be ended with from Python, without a crash. Most calls end some other one."""
CRASHING_THREAD = re.compile(rb"Current thread 0x([0-9a-f]+).*?(?=\n\n|\Z)", re.DOTALL)

handler_at: ContextVar[int] = ContextVar("handler_at")
"""The board's place of the handler that runs here: in its thread, its coroutine, what it awaits."""


def own_up(board: Board, crash_report: IO[bytes]) -> None:
    """From now on this process leaves word of which handler ended it. Once, in a worker process."""
    faulthandler.enable(crash_report, all_threads=True)  # of one thread it would not give the id
    for module, name in DEADLY:
        setattr(module, name, _confessing(getattr(module, name), board))


def _confessing(deadly: Callable[..., Any], board: Board) -> Callable[..., Any]:
    pid = os.getpid()

    @wraps(deadly)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        place = handler_at.get(None)
        if place is None or os.getpid() != pid:  # a handler's own child may end as it likes
            return deadly(*args, **kwargs)
        board.confess(place)
        try:
            return deadly(*args, **kwargs)
        finally:
            board.retract()

    return wrapper


@dataclass(frozen=True, slots=True)
class Crash:
    """What `faulthandler` says of the thread that crashed."""

    thread: int
    traceback: str


def crash_in(report: bytes) -> Crash | None:
    """None when the process did not crash. Of other threads nothing is told: they are other people's tasks."""
    found = CRASHING_THREAD.search(report)
    return found and Crash(int(found[1], 16), found[0].decode(errors="replace"))


def to_blame(
    records: Collection[Record], *, confessed: int | None, crashed: int | None
) -> frozenset[tuple[UUID, int]]:
    """The (task, generation) of those to charge: the one that did it, or else all that were started."""
    guilty = [
        record
        for record in records
        if record.stage is Stage.RUNNING and (record.place == confessed or record.thread == crashed)
    ]
    return frozenset((record.task_id, record.generation) for record in guilty or records)
