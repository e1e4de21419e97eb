"""What is logged of errors that no handler is there to answer for: in threads that one started, in what it left behind.

Python would write them to stderr beside the log, with their text, which may hold a part of a payload. Here it is their
class, and the place at which they were raised.
"""

import logging
import sys
import threading
from types import TracebackType

from scheduling.workers.verdicts import class_of

logger = logging.getLogger(__name__)


def log_instead_of_python() -> None:
    """Once per worker process."""
    threading.excepthook = log_thread
    sys.unraisablehook = log_unraisable


def log_thread(ended: threading.ExceptHookArgs) -> None:
    """A thread that calls `sys.exit` has ended as it meant to."""
    if not issubclass(ended.exc_type, SystemExit):
        name = ended.thread.name if ended.thread else "that is gone"
        logger.error("The thread %s failed: %s", name, told(ended))


def log_unraisable(met: "sys.UnraisableHookArgs") -> None:
    """Where nobody can be told: in a finalizer, for one."""
    what = type(met.object).__qualname__
    logger.error("An error was left unanswered in a %s: %s", what, told(met))


def told(caught: "threading.ExceptHookArgs | sys.UnraisableHookArgs") -> str:
    error = caught.exc_value or caught.exc_type()
    return f"{class_of(error)}{place_of(caught.exc_traceback)}"


def place_of(frames: TracebackType | None) -> str:
    """Where it was raised."""
    while frames and frames.tb_next:
        frames = frames.tb_next
    return f" at {frames.tb_frame.f_code.co_filename}:{frames.tb_lineno}" if frames else ""
