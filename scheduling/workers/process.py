"""One worker process, from its fork to its end."""

import signal
import sys
from functools import partial
from typing import IO
from uuid import UUID

from scheduling.ledger.dialects import devote_this_thread
from scheduling.signals import worker_process_started, worker_process_stopping
from scheduling.workers import announcements, blame, leftovers, pulse, spans, strays
from scheduling.workers.board import Board
from scheduling.workers.doorbell import Doorbell
from scheduling.workers.fork import HANDLED
from scheduling.workers.options import Options
from scheduling.workers.pool import Pool
from scheduling.workers.vital import start_vital_thread

SWITCH_INTERVAL = 0.001
"""Seconds a handler may keep the interpreter while others wait for it. With Python's own five milliseconds
the pool waits that long after every call to the database, and renewals among busy handlers for longer."""


def live(
    worker: UUID, options: Options, board: Board, crash_report: IO[bytes], lifeline: int
) -> int:
    """Work until SIGTERM, or until the supervisor is gone; the exit code.

    0: it left nothing behind. 1: the ledger could not be told everything, and the supervisor is to end leases.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    bell = Doorbell()
    bell.answer([signal.SIGTERM])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
    blame.own_up(board, crash_report)
    devote_this_thread()
    leftovers.watch_connections()
    announcements.without_the_framework()
    strays.log_instead_of_python()
    worker_process_started.send_robust(None)
    start_vital_thread("pulse", partial(pulse.beat, board))
    pool = Pool(worker, options, board, bell, lifeline)
    try:
        return work(pool, board)
    finally:
        worker_process_stopping.send_robust(None)
        spans.flush()


def work(pool: Pool, board: Board) -> int:
    if not pool.run():
        board.absolve()
        return 1
    board.sign_off()
    pool.sign_off()
    return 0
