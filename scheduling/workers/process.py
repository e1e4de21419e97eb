"""One worker process, from its fork to its end."""

import signal
from typing import IO
from uuid import UUID

from scheduling.workers import blame, leftovers
from scheduling.workers.board import Board
from scheduling.workers.doorbell import Doorbell
from scheduling.workers.fork import HANDLED
from scheduling.workers.options import Options
from scheduling.workers.pool import Pool

OWED_SOMETHING = 75
"""Exit code of a process that could not tell the ledger everything. Its supervisor ends what it held."""


def live(
    worker: UUID, options: Options, board: Board, crash_report: IO[bytes], lifeline: int
) -> int:
    """Work until SIGTERM, or until the supervisor is gone; the exit code."""
    bell = Doorbell()
    bell.answer([signal.SIGTERM])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
    blame.own_up(board, crash_report)
    leftovers.watch_connections()
    pool = Pool(worker, options, board, bell, lifeline)
    if not pool.run():
        return OWED_SOMETHING
    board.sign_off()
    pool.sign_off()
    return 0
