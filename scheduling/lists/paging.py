"""Owns pages of long lists of tasks, and of ticks: newest first, by cursor, without ever counting."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet

from scheduling import clock
from scheduling.models import Task, Tick
from scheduling.models.task import TaskQuerySet

WALK = 5_000
"""Tasks that one step looks at, at most."""
STEPS = 3
"""That a page takes at most. Each costs two or three queries."""
ENOUGH = 0.03
"""Seconds after which a page takes no further step."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_PLACE = re.compile(r"(-?\d{1,18})\.(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Page:
    """Some tasks, and the cursor of the next page if there is one."""

    tasks: list[Task]
    next_cursor: UUID | None
    walked: int
    """How many were looked at, at least, if that is why it ends here; otherwise 0."""


@dataclass(frozen=True, slots=True)
class Step:
    """What matches below a cursor, as far as one step looks."""

    tasks: TaskQuerySet
    floor: UUID | None
    """The last id that it looks at. None: it comes to the end."""


def page(
    step_below: Callable[[UUID | None], Step],
    *,
    cursor: UUID | None,
    limit: int,
    most_steps: int = STEPS,
) -> Page:
    """The tasks after the cursor. Ids are ordered by creation, so a page stays put while tasks come in.

    It ends where it is full, where there are no more, or else after some steps: then it is short, or empty, and
    still has a next one.
    """
    found: list[Task] = []
    walked, ends_at = 0, clock.monotonic() + ENOUGH
    for _ in range(most_steps):
        step = step_below(cursor)
        found += step.tasks.order_by("-id")[: limit + 1 - len(found)]
        if len(found) > limit:
            return Page(found[:limit], found[limit - 1].id, 0)
        cursor, walked = step.floor, walked + WALK
        if cursor is None:
            return Page(found, None, 0)
        if clock.monotonic() >= ends_at:
            break
    return Page(found, cursor, walked)


def below(tasks: TaskQuerySet, cursor: UUID | None) -> TaskQuerySet:
    return tasks if cursor is None else tasks.filter(id__lt=cursor)


def lowest_walked(among: TaskQuerySet, cursor: UUID | None) -> UUID | None:
    """The last id of one step, from an index alone. None: it comes to the end."""
    ids = below(among, cursor).select_related(None).order_by("-id").values_list("id", flat=True)
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
