"""Threads that a worker process cannot do without."""

import logging
import os
from collections.abc import Callable
from threading import Thread

logger = logging.getLogger(__name__)

BROKEN = 70
"""Exit code of a process whose own code failed."""

end_process = os._exit  # taken before `blame` makes it confess: this end is no handler's doing


def start_vital_thread(name: str, work: Callable[[], object]) -> None:
    """Run `work` for as long as the process lives. Should it fail, the process ends with it.

    The supervisor then ends the leases and starts a process that is whole, where one without this
    thread would keep its leases and get nothing done.
    """

    def run() -> None:
        try:
            work()
        except BaseException:
            logger.critical("%s failed; ending the process.", name, exc_info=True)
            end_process(BROKEN)

    Thread(target=run, name=name, daemon=True).start()
