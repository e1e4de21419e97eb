"""Owns the pages of recurring tasks, and of the ticks of one: newest first, by cursor, without ever counting."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from scheduling.api.v1.pagination import further_on
from scheduling.errors import InvalidTask
from scheduling.models import RecurringTask, Tick

Row = TypeVar("Row", bound=Model)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_PLACE = re.compile(r"(-?\d{1,18})\.(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows, and the cursor of the next page if there is one."""

    rows: Sequence[Row]
    cursor: str | None

    def next_address(self, request: HttpRequest) -> str | None:
        return None if self.cursor is None else further_on(request, self.cursor)


def recurring_page(
    rows: QuerySet[RecurringTask], *, cursor: UUID | None, limit: int
) -> Page[RecurringTask]:
    """Ids are ordered by creation, so a page stays put while others are created."""
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor)
    found = list(rows.order_by("-pk")[: limit + 1])
    shown = found[:limit]
    return Page(shown, str(shown[-1].pk) if len(found) > limit else None)


def tick_page(ticks: QuerySet[Tick], *, cursor: str | None, limit: int) -> Page[Tick]:
    """By their instants, so a page stays put while others come. Raises InvalidTask for a cursor that is none."""
    if cursor is not None:
        at, pk = place_of(cursor)
        ticks = ticks.filter(Q(at__lt=at) | Q(at=at, pk__lt=pk))
    found = list(ticks.order_by("-at", "-pk")[: limit + 1])
    shown = found[:limit]
    return Page(shown, cursor_at(shown[-1]) if len(found) > limit else None)


def cursor_at(tick: Tick) -> str:
    """Its instant in microseconds, and its key: a run that was asked for may fall on an instant of the rule."""
    return f"{(tick.at - EPOCH) // MICROSECOND}.{tick.pk}"


def place_of(cursor: str) -> tuple[datetime, int]:
    place = _PLACE.fullmatch(cursor)
    try:
        if place:
            return EPOCH + int(place[1]) * MICROSECOND, int(place[2])
    except OverflowError:
        pass
    raise InvalidTask({"cursor": "is none that a page of ticks ended with"})
