"""How gunicorn serves the project: ``python -m gunicorn -c python:config.gunicorn config.wsgi``."""

import gc
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS, connections

from config import databases, forks, settings, web_server

bind = f"{settings.HOST}:{settings.PORT}"
worker_class = "config.web_worker.WebWorker"
workers = web_server.CONCURRENCY
threads = web_server.THREADS
worker_connections = (
    settings.RENTROLL["WEB_WAITERS"] + 400
)  # those of clients that wait, and of all others
graceful_timeout = round(30 + web_server.SECONDS_TO_LEAVE)
"""Seconds from SIGTERM on, of which it still takes requests in the first, and lets them end in the others."""
preload_app = True
control_socket_disable = True
limit_request_line = 8190
"""Bytes: a list with every filter at its full length has to fit. It is the most that gunicorn allows."""
accesslog = web_server.ACCESS_LOG
# Without the query and the referrer, which are the callers' and may hold anything.
access_log_format = '%(h)s %(t)s "%(m)s %(U)s %(H)s" %(s)s %(B)s %(L)s'

# A worker's heartbeat is a file's timestamp; on a disk that is busy syncing it can come too late.
if Path("/dev/shm").is_dir():  # noqa: S108  # nosec B108  # gunicorn makes a file of its own there
    worker_tmp_dir = "/dev/shm"  # noqa: S108  # nosec B108  # gunicorn makes a file of its own there


def on_starting(_: object) -> None:
    forks.watch()


def pre_fork(_: object, worker: object) -> None:
    forks.hold_back()


def when_ready(_: object) -> None:
    """Refuse to fork while a database connection is open: children would share its handle."""
    opened = [one.alias for one in connections.all(initialized_only=True) if one.connection]
    if opened:
        raise RuntimeError(
            f"A database connection was opened before the fork: {', '.join(opened)}."
            " Something that is imported at start-up queries the database; let it wait for a request."
        )
    keep_what_is_loaded()


def keep_what_is_loaded() -> None:
    """For good. Looking through it for garbage would stop every thread of a child for a tenth of a second now and
    then, and give it a copy of the memory that it has in common with the others."""
    gc.collect()
    gc.freeze()


def post_fork(_: object, worker: object) -> None:
    """Have requests give up early on a ledger that others hold: their clients wait, and so do all behind them."""
    databases.wait_no_longer_than(web_server.WAIT_SECONDS, connections.settings[DEFAULT_DB_ALIAS])
