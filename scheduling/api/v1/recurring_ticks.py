"""`/v1/recurring-tasks/{id}`, by its ticks: run now, backfill, what became of each, and which come next."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import clock, ledger
from scheduling.api.v1 import recurring_shown as shown
from scheduling.api.v1.base import ApiView
from scheduling.api.v1.recurring_body import rule_in
from scheduling.api.v1.recurring_pages import tick_page
from scheduling.api.v1.recurring_serializers import (
    WAITING,
    Backfill,
    Extent,
    PreviewOf,
    TickFilter,
)
from scheduling.api.v1.recurring_tasks import RecurringView
from scheduling.api.v1.representation import detail, instant
from scheduling.api.v1.serializers import Why, parsed
from scheduling.api.v1.tasks import stored
from scheduling.errors import LimitExceeded, Overlapping
from scheduling.models import Tick
from scheduling.policies import Overlap
from tenants.models import Scope


class RunNowView(RecurringView):
    """A task at once, beside the ticks of the rule."""

    scopes: ClassVar[Mapping[str, Scope]] = {"POST": Scope.ENQUEUE}
    instead_of_a_key = "every run is a task of its own, and the ticks tell whether one was made"

    def post(self, request: Request, recurring_task_id: str) -> Response:
        row = self.found(recurring_task_id)
        reason = parsed(Why, self.json_object_if_any())["reason"]

        def record(made: UUID) -> None:
            self.record_one("run now", row, reason=reason, tasks=[made])

        try:
            task_id = ledger.run_now(row.pk, beside=record)
        except (Overlapping, LimitExceeded) as error:
            # What was in the way is asked to stop all the same.
            if row.overlap == Overlap.CANCEL_OTHER:
                self.record_one("run now", row, done=0, refused=1, reason=reason, note=str(error))
            raise
        task = stored(task_id, self.caller.tenant)
        told = detail(task, caller=self.caller, now=clock.now())
        return Response(
            told, status=201, headers={"Location": reverse("rentroll:task", args=[task_id])}
        )


class BackfillView(RecurringView):
    """Instants that have passed without a task get one, as far as their limits and the overlap policy allow."""

    scopes: ClassVar[Mapping[str, Scope]] = {"POST": Scope.ENQUEUE}
    instead_of_a_key = "asking for a range again makes nothing twice"

    def post(self, request: Request, recurring_task_id: str) -> Response:
        row = self.found(recurring_task_id)
        asked = parsed(Backfill, self.json_object())
        start, end, limit = asked["start"], asked["end"], asked["limit"]
        if asked["preview"]:
            return Response(backfilled(ledger.backfill_preview(row.pk, start, end, limit=limit)))

        def record(missing: Sequence[datetime]) -> None:
            note = f"{instant(start)} to {instant(end)}"
            self.record_one("backfill", row, reason=asked["reason"], done=len(missing), note=note)

        done = ledger.backfill(row.pk, start, end, limit=limit, beside=record)
        return Response(backfilled(done))


def backfilled(done: ledger.Backfilled) -> dict[str, Any]:
    return {
        "missing": [instant(at) for at in done.missing],
        "fired": [instant(at) for at in done.fired],
        "waiting": [instant(at) for at in done.waiting],
        "left_alone": done.left_alone,
        "next_start": instant(done.goes_on_from),
    }


class TicksView(RecurringView):
    """What became of each instant, the newest first."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ}

    def get(self, request: Request, recurring_task_id: str) -> Response:
        asked = parsed(TickFilter, self.query())
        ticks = Tick.objects.filter(recurring=self.found(recurring_task_id))
        if outcome := asked.get("outcome"):
            ticks = ticks.filter(outcome=None if outcome == WAITING else outcome)
        found = tick_page(ticks, cursor=asked.get("cursor"), limit=asked["limit"])
        rows = [shown.tick(one) for one in found.rows]
        return Response({"ticks": rows, "next": found.next_address(request._request)})


class StoredPreviewView(RecurringView):
    """The next instants of a recurring task."""

    scopes: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ}

    def get(self, request: Request, recurring_task_id: str) -> Response:
        asked = parsed(PreviewOf, self.query())
        rule = self.found(recurring_task_id).recurrence
        after = asked.get("after") or clock.now()
        return Response(shown.preview(rule, after, asked["count"]))


class PreviewView(ApiView):
    """The next instants of a rule that is only being thought of."""

    scopes: ClassVar[Mapping[str, Scope]] = {"POST": Scope.READ}

    def post(self, request: Request) -> Response:
        rule = self.json_object()
        extent: dict[str, Any] = {
            field: rule.pop(field) for field in ("after", "count") if field in rule
        }
        asked = parsed(Extent, extent)
        after = asked.get("after") or clock.now()
        return Response(shown.preview(rule_in(rule), after, asked["count"]))
