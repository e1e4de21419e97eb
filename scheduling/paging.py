"""Owns pages of long lists of tasks, and of ticks: newest first, by cursor, without ever counting."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from scheduling.models import Task, Tick

WALK = 5_000
"""Tasks that one page looks at, at most."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_PLACE = re.compile(r"(-?\d{1,18})\.(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Page:
    """Some tasks, and the cursor of the next page if there is one."""

    tasks: list[Task]
    next_cursor: UUID | None


def page(
    tasks: QuerySet[Task], *, among: QuerySet[Task] | None, cursor: UUID | None, limit: int
) -> Page:
    """The tasks after the cursor. Ids are ordered by creation, so a page stays put while tasks come in.

    With `among`, of which no index tells those that match, no more than `WALK` of these are looked at: the page
    may then be short, or empty, and still have a next one.
    """
    if cursor is not None:
        tasks = tasks.filter(id__lt=cursor)
    floor = None if among is None else lowest_walked(among, cursor)
    if floor is not None:
        tasks = tasks.filter(id__gte=floor)
    found = list(tasks.order_by("-id")[: limit + 1])
    shown = found[:limit]
    return Page(shown, shown[-1].id if len(found) > limit else floor)


def lowest_walked(among: QuerySet[Task], cursor: UUID | None) -> UUID | None:
    """The last id of one walk, from an index alone. None: it comes to the end."""
    if cursor is not None:
        among = among.filter(id__lt=cursor)
    ids = among.select_related(None).order_by("-id").values_list("id", flat=True)
    return next(iter(ids[WALK - 1 : WALK]), None)


def ticks(of: QuerySet[Tick], *, cursor: str | None, limit: int) -> tuple[list[Tick], str | None]:
    """Those after the cursor, and the cursor of the next page. By their instants, so a page stays put while others come.

    Raises ValueError for a cursor that is none.
    """
    if cursor is not None:
        at, pk = _place_of(cursor)
        of = of.filter(Q(at__lt=at) | Q(at=at, pk__lt=pk))
    found = list(of.order_by("-at", "-pk")[: limit + 1])
    shown = found[:limit]
    return shown, _cursor_at(shown[-1]) if len(found) > limit else None


def _cursor_at(tick: Tick) -> str:
    """Its instant in microseconds, and its key: a run that was asked for may fall on an instant of the rule."""
    return f"{(tick.at - EPOCH) // MICROSECOND}.{tick.pk}"


def _place_of(cursor: str) -> tuple[datetime, int]:
    place = _PLACE.fullmatch(cursor)
    try:
        if place:
            return EPOCH + int(place[1]) * MICROSECOND, int(place[2])
    except OverflowError:
        pass
    raise ValueError("is none that a page of ticks ended with")
