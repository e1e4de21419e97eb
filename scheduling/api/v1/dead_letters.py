"""`/v1/dead-letters`: redrive or discard many, by their ids or by a filter, after a look at which.

What a filter finds is worked off in parts. What is still to do is what still matches, so whoever stops in
the middle may simply go on; `next` says with what.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import audit, clock, ledger
from scheduling.api.v1.base import ApiView
from scheduling.api.v1.representation import instant, summary
from scheduling.api.v1.serializers import LARGEST_BATCH, DeadLetters, parsed
from scheduling.api.v1.tasks import readable
from scheduling.api.v1.tenancy import tenant_meant
from scheduling.models import OperatorAction, Task
from scheduling.models.task import TaskQuerySet
from tenants.models import Scope

MOST_COUNTED = 10_000
SHOWN = 10
LOOKS = 10
"""At what comes next, when those found had no room, or somebody else was faster."""
LOOKUPS = {
    "name": "name",
    "queue": "queue",
    "label": "label",
    "error_class": "error__of_class",
    "dead_reason": "dead_reason",
    "finished_after": "finished_at__gte",
    "finished_before": "finished_at__lt",
}


@dataclass(slots=True)
class Tally:
    """What one request did."""

    done: int = 0
    is_over: bool = False
    full: dict[int, ledger.Full] = field(default_factory=dict)
    """Tenants (by id) that have no room for more, and why."""
    slugs: dict[int, str] = field(default_factory=dict)
    action: OperatorAction | None = None
    """What is on record of it."""

    def left_of(self, letters: TaskQuerySet) -> TaskQuerySet:
        """Those that might still be worked off."""
        return letters.exclude(tenant__in=list(self.full))


class DeadLettersView(ApiView, ABC):
    """Shows which there are, or does to some of them what `work_off` does."""

    verb: ClassVar[str]
    scopes: ClassVar[Mapping[str, Scope]] = {"POST": Scope.CONTROL}

    def post(self, request: Request) -> Response:
        body = self.json_object()
        asked = parsed(DeadLetters, body)
        until = instant(clock.now())
        letters = self.letters(asked)
        if asked["preview"]:
            return Response(self.preview(letters))
        tally = self.work_through(letters, asked)
        if tally.full and not tally.done:
            raise next(iter(tally.full.values()))
        following = None
        if "filter" in asked and not tally.is_over:
            # Those that die anew meanwhile are not met again, however often the client goes on.
            following = {**body, "filter": {"finished_before": until, **body["filter"]}}
        full = sorted(tally.slugs[tenant_id] for tenant_id in tally.full)
        return Response({"done": tally.done, "next": following, "full": full})

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

    def work_through(self, letters: TaskQuerySet, asked: Mapping[str, Any]) -> Tally:
        """Work off as many as are asked for, past tenants that have no room."""
        tally, limit = Tally(), asked.get("limit", LARGEST_BATCH)
        letters = letters.select_related(None).select_related("tenant").only("tenant__slug")
        for _ in range(LOOKS):
            batch = list(tally.left_of(letters)[: limit - tally.done])
            tally.slugs |= {task.tenant_id: task.tenant.slug for task in batch}
            if batch:
                self.step(tally, batch, asked)
            if tally.done >= limit or not batch:
                break
        tally.is_over = not tally.left_of(letters).exists()
        return tally

    def step(self, tally: Tally, batch: Sequence[Task], asked: Mapping[str, Any]) -> None:
        """One transaction, with its part of what is put on record."""
        with transaction.atomic():
            done = self.work_off(batch, tally.full)
            count = {"done": done, "refused": len(batch) - done}
            if tally.action:
                audit.add(tally.action, **count)
            else:
                tally.action = self.record(
                    self.verb,
                    in_words(asked),
                    tenant=tenant_meant(self.caller, asked.get("filter", {}).get("tenant")),
                    tasks=[task.pk for task in batch] if "ids" in asked else (),
                    reason=asked["reason"],
                    **count,
                )
        tally.done += done

    @abstractmethod
    def work_off(self, batch: Sequence[Task], full: dict[int, ledger.Full]) -> int:
        """Answers how many; those that did not fit have their tenant in `full`."""


class RedriveDeadLettersView(DeadLettersView):
    """Queued again, at once, as many as fit."""

    verb = "redrive"

    def work_off(self, batch: Sequence[Task], full: dict[int, ledger.Full]) -> int:
        return len(ledger.redrive_what_fits(batch, full))


class DiscardDeadLettersView(DeadLettersView):
    """Gone, with their history."""

    verb = "discard"

    def work_off(self, batch: Sequence[Task], full: dict[int, ledger.Full]) -> int:
        return ledger.discard([task.pk for task in batch])


def in_words(asked: Mapping[str, Any]) -> str:
    """What was meant: `dead letters with name=demo.echo`."""
    if "ids" in asked:
        return f"{len(asked['ids'])} dead letters by their ids"
    parts = [f"{part}={value}" for part, value in asked["filter"].items()]
    return f"dead letters with {', '.join(parts)}" if parts else "all dead letters"
