"""What remote workers may say: the bodies of `/v1/leases`."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from rest_framework import serializers

from scheduling.api.v1.serializers import Id, Number, Strict, Text, Truth, Whole
from scheduling.ledger.progress import NOTE_LIMIT, Progress
from scheduling.payload import clean_text
from scheduling.states import Outcome

LARGEST_BATCH = 100
SHORTEST_LEASE, USUAL_LEASE, LONGEST_LEASE = 1, 30, 3600
"""Seconds."""
LONGEST_WAIT = 30
LONGEST_DELAY = 366 * 24 * 3600
LARGEST_GENERATION = 2**31 - 1
LARGEST_COUNT = 2**53 - 1
"""Beyond it, numbers in JSON are not the same to everybody."""
CLASS_LENGTH, MESSAGE_LENGTH, TRACEBACK_LENGTH = 200, 4 * 1024, 32 * 1024

OUTCOMES = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.SNOOZED, Outcome.RELEASED)
"""A task is lost in the eyes of others only, and cancelled by asking for it."""
BELONGS_TO = {
    "result": Outcome.SUCCEEDED,
    "error": Outcome.FAILED,
    "permanent": Outcome.FAILED,
    "retry_in_seconds": Outcome.FAILED,
    "delay_seconds": Outcome.SNOOZED,
}
"""What is said about an outcome, and which one."""


IN_WORDS = ("error", "progress")
"""What of a lease has texts that are escaped."""


class Escaped(Text):
    """What went wrong, or how far it is, in words: what no database stores is escaped, not refused."""

    def __init__(self, *, longest: int, **options: Any) -> None:
        super().__init__(**{"allow_blank": True, **options})
        self.longest = longest

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if len(text) > self.longest:  # as it was sent: escaping makes it longer
            self.fail("max_length", max_length=self.longest)
        return clean_text(text, self.longest)


class Anything(serializers.Field[Any, Any, Any, Any]):
    """Any JSON. Whether it can be stored is told when it is."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class ClaimSerializer(Strict):
    """`POST /v1/leases`."""

    worker = Id(required=False)
    queues = serializers.ListField(
        child=Text(max_length=100), required=False, min_length=1, max_length=LARGEST_BATCH
    )
    max = Whole(min_value=1, max_value=LARGEST_BATCH, default=1)
    lease_seconds = Number(min_value=SHORTEST_LEASE, max_value=LONGEST_LEASE, default=USUAL_LEASE)
    wait = Number(min_value=0, max_value=LONGEST_WAIT, default=0)
    tenant = Text(max_length=64, required=False)


class FenceSerializer(Strict):
    """A lease, as its holder names it."""

    task_id = Id()
    generation = Whole(min_value=1, max_value=LARGEST_GENERATION)


class ErrorSerializer(Strict):
    """Why it failed. `class` is no name that Python allows here, so it is put in below."""

    message = Escaped(longest=MESSAGE_LENGTH, default="")
    traceback = Escaped(longest=TRACEBACK_LENGTH, default="")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {"class": Escaped(longest=CLASS_LENGTH, allow_blank=False), **super().get_fields()}


class SettlementSerializer(FenceSerializer):
    """What became of one of them."""

    outcome = serializers.ChoiceField([outcome.value for outcome in OUTCOMES])
    result = Anything(required=False, allow_null=True)
    error = ErrorSerializer(required=False)
    permanent = Truth(required=False)
    retry_in_seconds = Number(min_value=0, max_value=LONGEST_DELAY, required=False)
    delay_seconds = Number(min_value=0, max_value=LONGEST_DELAY, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        outcome = attrs["outcome"]
        faults = {
            field: f"Belongs to `{of}`, not to `{outcome}`."
            for field, of in BELONGS_TO.items()
            if field in attrs and of != outcome
        }
        if outcome == Outcome.SNOOZED and "delay_seconds" not in attrs:
            faults["delay_seconds"] = "Say for how long."
        if outcome == Outcome.FAILED and "error" not in attrs:
            faults["error"] = "Say what went wrong."
        if attrs.get("permanent") and "retry_in_seconds" in attrs:
            faults["retry_in_seconds"] = "There is no other attempt after a permanent failure."
        if faults:
            raise serializers.ValidationError(faults)
        return attrs


class ProgressSerializer(Strict):
    """How far the handler has come: a fraction, or how many are done of how many."""

    fraction = Number(min_value=0, max_value=1, required=False)
    done = Whole(min_value=0, max_value=LARGEST_COUNT, required=False)
    total = Whole(min_value=0, max_value=LARGEST_COUNT, required=False)
    note = Escaped(longest=NOTE_LIMIT, default="")

    def validate(self, attrs: dict[str, Any]) -> Progress:
        said = attrs.keys() - {"note"}
        if said not in ({"fraction"}, {"done", "total"}):
            raise serializers.ValidationError("Say either `fraction`, or `done` and `total`.")
        made = attrs["fraction"] if said == {"fraction"} else (attrs["done"], attrs["total"])
        try:
            return Progress.of(made, attrs["note"])
        except ValueError as error:
            raise serializers.ValidationError({"done": "Is more than `total`."}) from error


class RenewalSerializer(FenceSerializer):
    """A lease that is to last longer, and what there is to say about its task."""

    progress = ProgressSerializer(required=False)


class RenewSerializer(Strict):
    """`POST /v1/leases/renew`."""

    worker = Id()
    leases = serializers.ListField(
        child=RenewalSerializer(), min_length=1, max_length=LARGEST_BATCH
    )
    lease_seconds = Number(min_value=SHORTEST_LEASE, max_value=LONGEST_LEASE, default=USUAL_LEASE)

    def validate_leases(self, leases: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return each_once(leases)


class SettleSerializer(Strict):
    """`POST /v1/leases/settle`."""

    worker = Id()
    leases = serializers.ListField(
        child=SettlementSerializer(), min_length=1, max_length=LARGEST_BATCH
    )

    def validate_leases(self, leases: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return each_once(leases)


def judged_together(said: dict[str, Any]) -> dict[str, Any]:
    """Of a body, what must be storable as it stands: neither results nor what `Escaped` reads."""
    leases = said.get("leases")
    if not isinstance(leases, list):
        return said
    return {**said, "leases": [judged_at_once(lease) for lease in leases]}


def judged_at_once(lease: Any) -> Any:
    if not isinstance(lease, dict):
        return lease
    return {
        name: list(told) if name in IN_WORDS and isinstance(told, dict) else told
        for name, told in lease.items()
        if name != "result"
    }


def each_once(leases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two answers to the question what became of one lease would leave open which of them counts."""
    if len(set(fences(leases))) < len(leases):
        raise serializers.ValidationError("Names a lease twice.")
    return leases


def fences(leases: Iterable[dict[str, Any]]) -> list[tuple[UUID, int]]:
    return [(lease["task_id"], lease["generation"]) for lease in leases]
