"""Database connections do not cross a fork.

A child process inherits the open connections of the thread that forked, and Django would go on using them:
two processes then write into one conversation with the server, or share the locks of one SQLite handle. Here
a child leaves them alone and opens its own. It does not close them either, which would end the parent's.
"""

import os
from typing import Any

from django.db import connections

_inherited: list[Any] = []
"""Of the parent. Kept, because what is forgotten is closed."""


def leave_connections_to_the_parent() -> None:
    """Run in a new child process, before anything else is done in it."""
    for connection in connections.all(initialized_only=True):
        _inherited.append(connection)
        del connections[connection.alias]


def watch() -> None:
    """From now on, after every fork. Call it once."""
    os.register_at_fork(after_in_child=leave_connections_to_the_parent)
