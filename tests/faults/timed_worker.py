"""The web worker, with a watch: how long requests wait for a thread in it, and how long they are worked on.

What clients see holds more: their own time, the network's, and what passes until a busy process hears them.
"""

import os
import struct
from pathlib import Path
from threading import local
from typing import Any, NamedTuple

from config.web_worker import WebWorker
from scheduling import clock

FOLDER = "TIMES_OF_REQUESTS"
OPTION = "--worker-class tests.faults.timed_worker.TimedWorker"
"""For GUNICORN_CMD_ARGS."""
RECORD = struct.Struct("4d")


class Timed(NamedTuple):
    """One request: when it was over by the monotonic clock, with which status, and the seconds that it took."""

    over_at: float
    status: float
    in_line: float
    handled: float


class TimedWorker(WebWorker):
    """Writes its requests down as they end, because what it kept would look like a leak."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._heard_at: dict[Any, float] = {}
        self._answered = local()

    def load_wsgi(self) -> None:
        super().load_wsgi()
        application: Any = self.wsgi

        def answer(environ: dict[str, Any], start_response: Any) -> Any:
            def start(status: str, *rest: Any) -> Any:
                self._answered.status = int(status[:3])
                return start_response(status, *rest)

            return application(environ, start)

        self.wsgi = answer

    def enqueue_req(self, conn: Any) -> None:
        self._heard_at[conn] = clock.monotonic()
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        heard_at, taken_at = self._heard_at.pop(conn), clock.monotonic()
        self._answered.status = 0
        try:
            return super().handle(conn)
        finally:
            over_at = clock.monotonic()
            waited, handled = taken_at - heard_at, over_at - taken_at
            self._book.write(RECORD.pack(over_at, self._answered.status, waited, handled))

    def run(self) -> None:
        with Path(os.environ[FOLDER], str(os.getpid())).open("wb") as self._book:
            super().run()


def read(folder: Path) -> list[Timed]:
    """Of all processes that have stopped."""
    return [
        Timed(*record)
        for book in folder.iterdir()
        for record in RECORD.iter_unpack(book.read_bytes())
    ]
