"""Owns the pages of recurring tasks, and of the ticks of one: newest first, by cursor, without ever counting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from scheduling.api.v1.pagination import further_on
from scheduling.errors import InvalidTask
from scheduling.lists import paging
from scheduling.models import RecurringTask, Tick

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows, and the cursor of the next page if there is one."""

    rows: Sequence[Row]
    cursor: str | None

    def next_address(self, request: HttpRequest) -> str | None:
        return None if self.cursor is None else further_on(request, "cursor", self.cursor)


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
    try:
        found, following = paging.ticks(ticks, cursor=cursor, limit=limit)
    except ValueError as error:
        raise InvalidTask({"cursor": str(error)}) from error
    return Page(found, following)
