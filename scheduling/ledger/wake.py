"""Waking workers that wait, so that an idle system picks work up without polling.

A wake-up is a hint and carries no truth: a worker that misses one finds the work at its next slow look.
"""

from scheduling.ledger.dialects import Listener, dialect
from scheduling.ledger.topics import CANCEL, DUE, PAUSE, SLOWEST_LOOK, SWEEP, TICK, TOPICS, WORK

__all__ = [
    "CANCEL",
    "DUE",
    "PAUSE",
    "SLOWEST_LOOK",
    "SWEEP",
    "TICK",
    "TOPICS",
    "WORK",
    "after_commit",
    "listen",
]


def after_commit(topic: str) -> None:
    """Wake every listener for the topic when the transaction under way commits, and not if it does not."""
    dialect().wake_after_commit(topic)


def listen() -> Listener:
    """Start to listen. OperationalError when the database does not answer."""
    return dialect().listen()
