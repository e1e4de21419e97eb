"""What may be asked of recurring tasks beside their own fields, which the ledger checks."""

from typing import Any

from rest_framework import serializers

from scheduling.api.v1.serializers import (
    LARGEST_PAGE,
    PAGE,
    Id,
    Instant,
    Strict,
    Text,
    Truth,
    Whole,
    Why,
)
from scheduling.policies import TickOutcome

LARGEST_BACKFILL = 1000
LARGEST_PREVIEW, USUAL_PREVIEW = 50, 10
WAITING = "waiting"
"""How a tick without an outcome is asked for."""


class RecurringFilter(Strict):
    """The query of the list of recurring tasks."""

    tenant = Text(max_length=64, required=False)
    name = Text(max_length=200, required=False)
    task_name = Text(max_length=200, required=False)
    cursor = Id(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=LARGEST_PAGE, default=PAGE)


class TickFilter(Strict):
    """The query of the list of ticks."""

    outcome = serializers.ChoiceField(
        [*(outcome.value for outcome in TickOutcome), WAITING], required=False
    )
    cursor = Text(max_length=64, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=LARGEST_PAGE, default=PAGE)


class PreviewOf(Strict):
    """How much of a rule that is stored."""

    after = Instant(required=False)
    count = serializers.IntegerField(min_value=1, max_value=LARGEST_PREVIEW, default=USUAL_PREVIEW)


class Extent(PreviewOf):
    """How much of a rule that is sent, beside the rule."""

    count = Whole(min_value=1, max_value=LARGEST_PREVIEW, default=USUAL_PREVIEW)


class Backfill(Why):
    """Which instants are made up for, and whether they are only to be shown."""

    start = Instant()
    end = Instant()
    limit = Whole(min_value=1, max_value=LARGEST_BACKFILL, default=LARGEST_BACKFILL)
    preview = Truth(default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["end"] < attrs["start"]:
            raise serializers.ValidationError({"end": "Must not be earlier than start."})
        return attrs
