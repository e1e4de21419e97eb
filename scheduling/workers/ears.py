"""What the pool's thread waits for while it has nothing to do."""

import selectors

from scheduling.ledger import wake
from scheduling.ledger.dialects import Listener
from scheduling.workers.doorbell import Doorbell


class Ears:
    """The ledger's wake-up calls, the process's own doorbell, and the end of the supervisor."""

    def __init__(self, bell: Doorbell, lifeline: int) -> None:
        """`lifeline` is a pipe's end that nobody writes to: it becomes readable when the supervisor is gone."""
        self._bell = bell
        self._lifeline = lifeline
        self._listener: Listener | None = None
        self._listened_to = -1
        self._selector = selectors.DefaultSelector()
        self._selector.register(bell, selectors.EVENT_READ)
        self._selector.register(lifeline, selectors.EVENT_READ)
        self.is_orphan = False

    def wait(self, seconds: float) -> frozenset[int]:
        """Return when there is something to do, or after so many seconds; the signals that came."""
        for key, _ in self._selector.select(max(seconds, 0)):
            if key.fd == self._lifeline:
                self.is_orphan = True
                self._selector.unregister(self._lifeline)
        return self._bell.hush()

    def topics(self) -> set[str]:
        """What the ledger was woken for since the last call. DatabaseError when it cannot be told."""
        if self._listener is None:
            self._listener = wake.listen()
            self._listened_to = self._listener.fileno()  # one that broke cannot be asked any more
            self._selector.register(self._listened_to, selectors.EVENT_READ)
            return set(wake.TOPICS)  # what came before was missed
        return self._listener.drain()

    def stop_listening(self) -> None:
        """At the end, or after an error: the next call to `topics` begins anew."""
        if self._listener is not None:
            self._selector.unregister(self._listened_to)
            self._listener.close()
            self._listener = None
