"""Owns that no request to stop is lost on a web process that was just forked.

A child begins with the ears of gunicorn's master, which only take a note for the master. What is said to it before
it has ears of its own would go there, and half a minute later it would be killed. So it is held back until then.
"""

import os
import signal

HELD_BACK = frozenset({signal.SIGQUIT, signal.SIGTERM})


def watch() -> None:
    """For the master, before its first child."""
    os.register_at_fork(after_in_parent=let_through)


def hold_back() -> None:
    """For the master, before each child."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)


def let_through() -> None:
    """For the master once the child is there, and for the child once it has ears of its own."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)
