"""Owns pages of long lists of tasks: newest first, by cursor, without ever counting."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from scheduling.models import Task

WALK = 5_000
"""Tasks that one page looks at, at most."""


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
