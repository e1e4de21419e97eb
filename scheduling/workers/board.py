"""What a worker process was doing, kept where its death cannot take it: in memory its supervisor shares.

The process writes, the supervisor reads once the process is gone. A record says which claim was started
and in which thread; a claim without a record was never started. Writes cost a fraction of a microsecond
and need no lock, because each record has one writer at a time.
"""

import mmap
import struct
from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID

HEADER = struct.Struct("<QBB6xQQQQQ")
"""Confessing record (counted from 1, 0 for none), signed off, absolved, the tally, and beats."""
CONFESSION = struct.Struct("<Q")
SIGNED_OFF_AT = 8
ABSOLVED_AT = 9
TALLY = struct.Struct("<QQQQ")
TALLY_AT = 16
BEATS = struct.Struct("<Q")
BEATS_AT = TALLY_AT + TALLY.size
RECORD = struct.Struct("<16sQQB")
"""Task id, generation, thread, and last, so that it vouches for the rest, the stage."""
STAGE_AT = RECORD.size - 1


class Stage(IntEnum):
    FREE = 0
    RUNNING = 1
    FINISHED = 2
    """The handler came to an end that the ledger has not been told yet."""


@dataclass(frozen=True, slots=True)
class Record:
    """A claim that was started."""

    place: int
    task_id: UUID
    generation: int
    thread: int
    stage: Stage


@dataclass(frozen=True, slots=True)
class Tally:
    """Settlements of one process, or of many."""

    done: int = 0
    failed: int = 0
    """Dead letters."""
    retried: int = 0
    refused: int = 0
    """Stale ones."""

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.done + other.done,
            self.failed + other.failed,
            self.retried + other.retried,
            self.refused + other.refused,
        )


class Board:
    """Shared by a process and the supervisor that forked it. Made before the fork."""

    def __init__(self, places: int) -> None:
        self.places = places
        self._memory = mmap.mmap(-1, HEADER.size + places * RECORD.size)

    # Written by the worker process

    def start(self, place: int, task_id: UUID, generation: int, thread: int) -> None:
        RECORD.pack_into(
            self._memory, self._at(place), task_id.bytes, generation, thread, Stage.RUNNING
        )

    def finish(self, place: int) -> None:
        self._memory[self._at(place) + STAGE_AT] = Stage.FINISHED

    def clear(self, place: int) -> None:
        self._memory[self._at(place) + STAGE_AT] = Stage.FREE

    def confess(self, place: int) -> None:
        """The handler recorded here is about to do what may end the process."""
        CONFESSION.pack_into(self._memory, 0, place + 1)

    def retract(self) -> None:
        """The process is still alive."""
        CONFESSION.pack_into(self._memory, 0, 0)

    def sign_off(self) -> None:
        """The process holds nothing any more: what follows is no death, whatever its exit code."""
        self._memory[SIGNED_OFF_AT] = 1

    def absolve(self) -> None:
        """The process ends by itself, holding things: what still runs is not to blame."""
        self._memory[ABSOLVED_AT] = 1

    def count(self, more: Tally) -> None:
        total = self.tally() + more
        TALLY.pack_into(
            self._memory, TALLY_AT, total.done, total.failed, total.retried, total.refused
        )

    def beat(self) -> None:
        """The process is alive, and its threads get their turns."""
        BEATS.pack_into(self._memory, BEATS_AT, self.beats() + 1)

    # Read by the supervisor

    def confessed(self) -> int | None:
        """The place of the record whose handler ended the process."""
        (place,) = CONFESSION.unpack_from(self._memory, 0)
        return place - 1 if place else None

    def is_signed_off(self) -> bool:
        return self._memory[SIGNED_OFF_AT] == 1

    def is_absolved(self) -> bool:
        return self._memory[ABSOLVED_AT] == 1

    def tally(self) -> Tally:
        return Tally(*TALLY.unpack_from(self._memory, TALLY_AT))

    def beats(self) -> int:
        (beats,) = BEATS.unpack_from(self._memory, BEATS_AT)
        return int(beats)

    def records(self) -> list[Record]:
        """Of the claims that were started and not settled."""
        rows = (
            (place, *RECORD.unpack_from(self._memory, self._at(place)))
            for place in range(self.places)
        )
        return [
            Record(place, UUID(bytes=task_id), generation, thread, Stage(stage))
            for place, task_id, generation, thread, stage in rows
            if stage != Stage.FREE
        ]

    def close(self) -> None:
        self._memory.close()

    def _at(self, place: int) -> int:
        return HEADER.size + place * RECORD.size
