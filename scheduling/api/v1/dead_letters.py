"""`/v1/dead-letters`: redrive or discard many, by their ids or by a filter, after a look at which.

What a filter finds is worked off in parts. What is still to do is what still matches, so whoever stops in
the middle may simply go on; `next` says with what.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import clock, ledger
from scheduling.api.v1.base import ApiView
from scheduling.api.v1.representation import instant, summary
from scheduling.api.v1.serializers import LARGEST_BATCH, DeadLetters, parsed
from scheduling.api.v1.tasks import readable
from scheduling.api.v1.tenancy import tenant_meant
from scheduling.models import Task
from scheduling.models.task import TaskQuerySet
from tenants.models import Scope

MOST_COUNTED = 10_000
SHOWN = 10
LOOKS = 10
"""At what comes next, when those found had no room, or somebody else was faster."""
LOOKUPS = {
    "name": "name",
    "queue": "queue",
    "error_class": "error__of_class",
    "dead_reason": "dead_reason",
    "finished_after": "finished_at__gte",
    "finished_before": "finished_at__lt",
}


@dataclass(slots=True)
class Sweep:
    """What one request did."""

    done: int = 0
    is_over: bool = False
    full: dict[int, ledger.Full] = field(default_factory=dict)
    """Tenants (by id) that have no room for more, and why."""
    slugs: dict[int, str] = field(default_factory=dict)

    def left_of(self, letters: TaskQuerySet) -> TaskQuerySet:
        """Those that might still be worked off."""
        return letters.exclude(tenant__in=list(self.full))


class DeadLettersView(ApiView):
    """Shows which there are, or does to some of them what `work_off` does."""

    scopes: ClassVar[Mapping[str, Scope]] = {"POST": Scope.CONTROL}

    def post(self, request: Request) -> Response:
        body = self.json_object()
        asked = parsed(DeadLetters, body)
        until = instant(clock.now())
        letters = self.letters(asked)
        if asked["preview"]:
            return Response(self.preview(letters))
        sweep = self.sweep(letters, asked.get("limit", LARGEST_BATCH))
        if sweep.full and not sweep.done:
            raise next(iter(sweep.full.values()))
        following = None
        if "filter" in asked and not sweep.is_over:
            # Those that die anew meanwhile are not met again, however often the client goes on.
            following = {**body, "filter": {"finished_before": until, **body["filter"]}}
        full = sorted(sweep.slugs[tenant_id] for tenant_id in sweep.full)
        return Response({"done": sweep.done, "next": following, "full": full})

    def letters(self, asked: Mapping[str, Any]) -> TaskQuerySet:
        """Those that are meant, as far as the caller may touch them, in the order of their index."""
        parts = dict(asked.get("filter", {}))
        tenant = tenant_meant(self.caller, parts.pop("tenant", None))
        letters = readable(tenant).dead().order_by("tenant", "pk")
        if "ids" in asked:
            return letters.filter(pk__among=asked["ids"])
        return letters.filter(**{LOOKUPS[part]: value for part, value in parts.items()})

    def preview(self, letters: TaskQuerySet) -> dict[str, Any]:
        matching = letters.order_by()[: MOST_COUNTED + 1].count()
        now = clock.now()
        return {
            "matching": min(matching, MOST_COUNTED),
            "is_exact": matching <= MOST_COUNTED,
            "tasks": [
                summary(task, caller=self.caller, now=now)
                for task in letters.without_blobs()[:SHOWN]
            ],
        }

    def sweep(self, letters: TaskQuerySet, limit: int) -> Sweep:
        """Work off up to `limit` of them, past tenants that have no room."""
        sweep = Sweep()
        letters = letters.select_related(None).select_related("tenant").only("tenant__slug")
        for _ in range(LOOKS):
            batch = list(sweep.left_of(letters)[: limit - sweep.done])
            sweep.slugs |= {task.tenant_id: task.tenant.slug for task in batch}
            sweep.done += self.work_off(batch, sweep.full)
            if sweep.done >= limit or not batch:
                break
        sweep.is_over = not sweep.left_of(letters).exists()
        return sweep

    def work_off(self, batch: Sequence[Task], full: dict[int, ledger.Full]) -> int:
        """Answers how many; those that did not fit have their tenant in `full`."""
        raise NotImplementedError


class RedriveDeadLettersView(DeadLettersView):
    """Queued again, at once, as many as fit."""

    def work_off(self, batch: Sequence[Task], full: dict[int, ledger.Full]) -> int:
        return len(ledger.redrive_what_fits(batch, full))


class DiscardDeadLettersView(DeadLettersView):
    """Gone, with their history."""

    def work_off(self, batch: Sequence[Task], full: dict[int, ledger.Full]) -> int:
        return ledger.discard([task.pk for task in batch])
