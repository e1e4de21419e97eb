"""Child processes of the supervisor."""

import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from django.db import connections

from scheduling.workers.vital import BROKEN, end_process

logger = logging.getLogger(__name__)

HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


def fork(work: Callable[[], int]) -> int:
    """Run `work` in a child process, which ends with the exit code that it returns. Returns the child's pid.

    OSError when the system has no room for another process.

    No database connection may be open: two processes would speak on one. Signals wait, blocked, until the
    child has decided what to do with them; what a terminal sends to every process is left to the parent.
    """
    refuse_open_connections()
    sys.stdout.flush()
    sys.stderr.flush()
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    try:
        pid = os.fork()
        if pid == 0:
            _be_child(work)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    return pid


def refuse_open_connections() -> None:
    is_open = [one.alias for one in connections.all(initialized_only=True) if one.connection]
    if is_open:
        raise RuntimeError(f"Cannot fork with open database connections: {', '.join(is_open)}.")


def _be_child(work: Callable[[], int]) -> NoReturn:
    code = BROKEN
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        code = work()
    except BaseException:
        logger.critical("A child process failed.", exc_info=True)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        end_process(code)
