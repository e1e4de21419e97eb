"""How a check tells what it found."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.db.models import QuerySet

SHOWN = 20
"""Rows named per check; the first few tell what is wrong."""

Check = Callable[[], Iterable[str]]


def each(rows: QuerySet[Any], say: str) -> Iterator[str]:
    """Reads no more of a row than its name: the rest may be what is wrong with it."""
    for row in rows.only("pk")[:SHOWN]:
        yield f"{row!s}: {say}"
