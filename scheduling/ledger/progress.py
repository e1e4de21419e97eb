"""How far a handler says it has come. Pure."""

from dataclasses import dataclass

from scheduling.payload import clean_text

NOTE_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Progress:
    """As it is kept with the lease, for as long as the task runs."""

    fraction: float
    """From 0 to 1."""
    done: int | None = None
    total: int | None = None
    note: str = ""

    @classmethod
    def of(cls, made: float | tuple[int, int], note: str = "") -> "Progress":
        """From a fraction, or from how many are done of how many. Raises ValueError for what is neither."""
        done: int | None
        total: int | None
        if isinstance(made, tuple):
            done, total = made
            fits, fraction = 0 <= done <= total, done / max(total, 1)
        else:
            done = total = None
            fits, fraction = 0 <= made <= 1, float(made)
        if not fits:
            raise ValueError(f"Progress is from 0 to 1, or (done, total), and {made!r} is not.")
        return cls(fraction, done, total, clean_text(note, NOTE_LIMIT))
