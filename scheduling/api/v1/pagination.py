"""Owns the pages of the list of tasks: newest first, by cursor, without ever counting."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from scheduling.models import Task


@dataclass(frozen=True, slots=True)
class Page:
    """Some tasks, and the cursor of the next page if there is one."""

    tasks: list[Task]
    next_cursor: UUID | None

    def next_address(self, request: HttpRequest) -> str | None:
        """The same list further on, relative to this host: a proxy may know it by another name."""
        if self.next_cursor is None:
            return None
        query = request.GET.copy()
        query["cursor"] = str(self.next_cursor)
        return f"{request.path}?{query.urlencode()}"


def page(tasks: QuerySet[Task], *, cursor: UUID | None, limit: int) -> Page:
    """The tasks after the cursor. Ids are ordered by creation, so a page stays put while tasks come in."""
    if cursor is not None:
        tasks = tasks.filter(id__lt=cursor)
    found = list(tasks.order_by("-id")[: limit + 1])
    shown = found[:limit]
    return Page(shown, shown[-1].id if len(found) > limit else None)
