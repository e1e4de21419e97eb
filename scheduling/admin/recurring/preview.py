"""The next instants of a rule, as the console shows them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scheduling.recurrence import Dst, Instant, Recurrence

COUNT = 10
MOST_SKIPPED = 10

DST = {
    Dst.MOVED: ("moved", "The clocks leave this time out: it runs right after the jump."),
    Dst.REPEATED: ("runs once", "The clocks show this time twice: it runs the first time."),
    Dst.BOTH: ("runs twice", "The clocks show this time twice: it runs both times."),
    Dst.SKIPPED: ("left out", "A jump of the clocks keeps this one from running."),
}
"""In short, and at length."""


@dataclass(frozen=True, slots=True)
class Row:
    """One instant, and what a jump of the clocks does to it."""

    instant: Instant

    @property
    def is_skipped(self) -> bool:
        return self.instant.dst is Dst.SKIPPED

    @property
    def mark(self) -> str:
        return DST.get(self.instant.dst, ("", ""))[0]

    @property
    def why(self) -> str:
        return DST.get(self.instant.dst, ("", ""))[1]


@dataclass(frozen=True, slots=True)
class Preview:
    words: str
    timezone: str
    rows: Sequence[Row]

    @property
    def notes(self) -> list[tuple[str, str]]:
        """What the marks in it mean."""
        return list(dict.fromkeys((row.mark, row.why) for row in self.rows if row.mark))


def preview(rule: Recurrence, after: datetime) -> Preview:
    """The next ten, and those between them that do not run for a jump of the clocks."""
    rows: list[Row] = []
    left, most = COUNT, COUNT + MOST_SKIPPED
    for instant in rule.after(after, skipped=True):
        row = Row(instant)
        rows.append(row)
        left -= not row.is_skipped
        if not left or len(rows) == most:
            break
    return Preview(rule.in_words(), rule.timezone, rows)
