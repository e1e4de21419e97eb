"""Tells the ledger's register that this process lives."""

from uuid import UUID

from scheduling import __version__, clock, ledger
from scheduling.workers.options import Options

PERIOD = 10.0
"""Seconds between two signs of life."""


class Presence:
    def __init__(self, worker: UUID, options: Options) -> None:
        self.due_at = 0.0
        self._worker = worker
        self._options = options
        self._is_registered = False

    def run(self) -> None:
        if not (self._is_registered and ledger.seen(self._worker)):
            self._register()
        self.due_at = clock.monotonic() + PERIOD

    def end(self) -> None:
        if self._is_registered:
            ledger.sign_off(self._worker)

    def _register(self) -> None:
        ledger.register(
            ledger.Registration(
                id=self._worker,
                version=__version__,
                queues=tuple(sorted(self._options.queues or ())),
                slots=self._options.threads,
            )
        )
        self._is_registered = True
