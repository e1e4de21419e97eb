"""Owns how it is found out that two sides hold the same: row by row, in the order of their keys.

Each row is written down in one form for both sides, and these are compared and digested, so a table that is the
same has one digest. Neither side is ever in memory as a whole.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from scheduling.ledger.moving.source import Source
from scheduling.ledger.moving.tables import Row, Table
from scheduling.ledger.moving.target import Target

COUNTED = 500
"""Rows between two calls of `tell`."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One table, on both sides."""

    table: str
    source_rows: int
    target_rows: int
    digest: str
    """SHA-256 of all rows, the same on both sides. Empty if they differ."""
    difference: str = ""
    """The first key that differs, and in what."""


def compare(source: Source, target: Target, table: Table, tell: Callable[[int], None]) -> Compared:
    """`tell` hears how many rows have been compared. Raises Unfit for a row that nobody could have copied."""
    digest = hashlib.sha256()
    with closing(target.rows(table)) as theirs:
        for number, (mine, its) in enumerate(zip_longest(rows_of(source, table), theirs)):
            if number % COUNTED == 0:
                tell(number)
            left, right = written(table, mine), written(table, its)
            if left != right:
                counts = source.count(table), target.count(table)
                return Compared(table.name, *counts, "", told(table, mine, its))
            digest.update(left)
    return Compared(table.name, source.count(table), target.count(table), digest.hexdigest())


def rows_of(source: Source, table: Table) -> Iterator[Row]:
    for raw in source.rows(table):
        yield table.read(raw)


def written(table: Table, row: Row | None) -> bytes:
    """`repr` tells 1 from True, and 0.0 from -0.0."""
    return b"" if row is None else repr(table.meaning(row)).encode()


def told(table: Table, mine: Row | None, its: Row | None) -> str:
    """In which key two rows of the same place differ, and how."""
    name = f"{table.name}, {table.key.name}"
    if mine is not None and its is not None and mine[0] == its[0]:
        pairs = zip(table.columns, table.meaning(mine), table.meaning(its), strict=True)
        columns = ", ".join(one.name for one, left, right in pairs if repr(left) != repr(right))
        return f"{name} {shown(mine)}: {columns} differs"
    if its is None or (mine is not None and mine[0] < its[0]):
        return f"{name} {shown(mine)} is in the source only"
    return f"{name} {shown(its)} is in the target only"


def shown(row: Any) -> str:
    return str(row[0])
