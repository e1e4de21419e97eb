"""Owns which attempt the code that runs now belongs to, for whoever writes about it: the log. Pure.

Kept in a context variable, so it is right in every slot and in every coroutine; a thread that a handler starts
for itself knows nothing of it.
"""

from contextvars import ContextVar, Token
from typing import Protocol
from uuid import UUID


class Attempt(Protocol):
    """What is told of it. Never the payload."""

    @property
    def tenant(self) -> str: ...
    @property
    def task_id(self) -> UUID: ...
    @property
    def name(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def generation(self) -> int: ...


_attempt: ContextVar[Attempt | None] = ContextVar("attempt", default=None)


def begin(attempt: Attempt) -> Token[Attempt | None]:
    """From here on the code of this context belongs to it, until `end` with what this answers."""
    return _attempt.set(attempt)


def end(token: Token[Attempt | None]) -> None:
    _attempt.reset(token)


def attempt() -> Attempt | None:
    """None: the code that runs belongs to no attempt."""
    return _attempt.get()
