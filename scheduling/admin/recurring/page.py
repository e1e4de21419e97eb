"""The page of one recurring task: how it stands, what comes next, and what became of each tick."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from scheduling import clock
from scheduling.admin.recurring.access import Act, may, require_look
from scheduling.admin.recurring.form import CATCHUPS, OVERLAPS
from scheduling.admin.recurring.found import found
from scheduling.admin.recurring.preview import Preview, preview
from scheduling.admin.recurring.standing import Standing, in_words, is_overdue, stand_of
from scheduling.admin.recurring.strip import Look, look_of, strips
from scheduling.admin.recurring.zoned import zone_called
from scheduling.admin.shown import pretty
from scheduling.admin.site import console
from scheduling.lists import paging
from scheduling.models import RecurringTask, Tick
from scheduling.policies import Origin
from scheduling.recurrence import InvalidRecurrence

TICKS = 50
"""On a page."""
LEGEND = tuple(Look)
SHOWN_OF_TICKS = ("at", "until", "count", "origin", "outcome", "reason", "decided_at")


@dataclass(frozen=True, slots=True)
class Line:
    """A tick, as it stands in the table."""

    tick: Tick
    look: Look

    @property
    def fared(self) -> str:
        """How the task it made has fared, beyond that it was made."""
        of_task = (Look.SUCCEEDED, Look.UNDER_WAY, Look.DEAD)
        return self.look.word if self.look in of_task else ""

    @property
    def became(self) -> str:
        outcome = self.tick.outcome
        return outcome.replace("_", " ") if outcome else "waits"

    @property
    def wanted_by(self) -> str:
        """Somebody, where it was not the rule."""
        origin = self.tick.origin
        return "" if origin == Origin.RULE else origin.replace("_", " ")


def page_view(request: HttpRequest, pk: UUID) -> HttpResponse:
    require_look(request)
    row, now = found(pk), clock.now()
    stand = stand_of(row)
    lines, older = _ticks(row, request.GET.get("before"))
    context = console.each_context(request) | {
        "title": row.name,
        "row": row,
        "stand": stand,
        "words": in_words(row),
        "zone": zone_called(row.timezone),
        "overlap": OVERLAPS[row.overlap],
        "catchup": CATCHUPS[row.catchup],
        "payload": pretty(row.payload),
        "coming": _coming(row, now),
        "is_silent": row.is_silent,
        "is_overdue": is_overdue(row, now),
        "strip": strips([row])[row.pk],
        "legend": LEGEND,
        "lines": lines,
        "older": older,
        "is_first_page": "before" not in request.GET,
        "acts": _offered(request, stand.word, row),
    }
    return TemplateResponse(request, "admin/recurring/page.html", context)


def _coming(row: RecurringTask, now: datetime) -> Preview | None:
    """None for a rule that cannot be followed."""
    try:
        return preview(row.recurrence, now)
    except InvalidRecurrence:
        return None


def _ticks(row: RecurringTask, cursor: str | None) -> tuple[list[Line], str | None]:
    """The newest, or those after a cursor; and the cursor of the next page."""
    ticks = Tick.objects.filter(recurring=row).select_related("task")
    shown = ticks.only(*SHOWN_OF_TICKS, "task__state")
    try:
        found, older = paging.ticks(shown, cursor=cursor, limit=TICKS)
    except ValueError as error:
        raise BadRequest(f"The cursor {error}.") from error
    lines = [
        Line(tick, look_of(tick.outcome, tick.task.state if tick.task else None)) for tick in found
    ]
    return lines, older


def _offered(request: HttpRequest, stands: Standing, row: RecurringTask) -> Sequence[Act]:
    """What this user may do to it as it stands."""
    switch = Act.RESUME if row.is_silent else Act.PAUSE
    offered = [Act.RUN_NOW, switch, Act.BACKFILL, Act.EDIT, Act.DELETE]
    if row.declared_in_code:
        offered.remove(Act.DELETE)
    return [act for act in offered if may(request.user, act)]
