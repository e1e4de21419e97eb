"""Task ids: UUID version 7 (RFC 9562), ordered by creation and not guessable across tenants."""

import os
from threading import Lock
from uuid import UUID

from scheduling import clock

_last = 0
_lock = Lock()


def uuid7() -> UUID:
    """A new id; see `uuids7`."""
    return uuids7(1)[0]


def uuids7(count: int) -> list[UUID]:
    """New ids in order, each greater than every id this process made before, also within one millisecond.

    48 bits of Unix milliseconds, 12 bits of the fraction of the millisecond (RFC 9562 §6.2, method 3),
    62 random bits. The wall clock may step back: ids then go on counting from the last one.
    """
    global _last
    with _lock:
        first = max(clock.unix_nanoseconds() * 4096 // 1_000_000, _last + 1)
        _last = first + count - 1
    chance = os.urandom(8 * count)
    return [
        _uuid(tick, int.from_bytes(chance[8 * place : 8 * place + 8]))
        for place, tick in enumerate(range(first, first + count))
    ]


def _uuid(tick: int, chance: int) -> UUID:
    tail = chance & (1 << 62) - 1
    return UUID(int=(tick >> 12) << 80 | 7 << 76 | (tick & 0xFFF) << 64 | 2 << 62 | tail)


def _begin_anew() -> None:
    """In a new process: another thread of its parent may have held the lock, and is not there to let go of it."""
    global _lock
    _lock = Lock()


os.register_at_fork(after_in_child=_begin_anew)
