"""What requests may say beside a new task: filters of the list, and the kill switch.

A new task is validated by `scheduling.enqueueing`, which Python callers share.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from rest_framework import serializers

from scheduling.api.v1.until_over import SECONDS_MAX
from scheduling.errors import InvalidTask
from scheduling.instants import parse_instant
from scheduling.lists.narrowing import STATES
from scheduling.options import LABEL_LENGTH_MAX, REASON_LENGTH_MAX
from scheduling.states import DeadReason

PAGE = 50
LARGEST_PAGE = 200
LARGEST_BATCH = 1000
LONGEST_PAUSE_SECONDS = 366 * 24 * 3600


class Strict(serializers.Serializer[Any]):
    """Refuses fields it does not know: a misspelt filter must not select everything."""

    default_error_messages: ClassVar = {"invalid": "Must be an object."}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = {name: "There is no such field." for name in data if name not in self.fields}
            if unknown:
                raise serializers.ValidationError(unknown)
        return super().to_internal_value(data)


AStrict = TypeVar("AStrict", bound=Strict)


def parsed(kind: type[AStrict], data: Mapping[str, Any]) -> dict[str, Any]:
    """What the request says, by field, defaults filled in. Raises ValidationError."""
    serializer = kind(data=data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


class Text(serializers.CharField):
    """Text as it was sent: not stripped, and not made of a number."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Truth(serializers.BooleanField):
    """`true` or `false`. REST framework would also take "yes", "off" and 1."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Number(serializers.FloatField):
    """A JSON number. REST framework would also take "1" and true."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return super().to_internal_value(data)


class Whole(serializers.IntegerField):
    """A whole JSON number."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return super().to_internal_value(data)


class Instant(serializers.Field[Any, str, str, Any]):
    """RFC 3339 with a zone."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return parse_instant(Text().to_internal_value(data))
        except InvalidTask as error:
            raise serializers.ValidationError(list(error.errors.values())) from error


class Id(serializers.Field[UUID, str, str, Any]):
    def to_internal_value(self, data: Any) -> UUID:
        try:
            return UUID(data if isinstance(data, str) else "")
        except ValueError as error:
            raise serializers.ValidationError("Must be a UUID.") from error


class Covering(Strict):
    """What the kill switch covers. An empty part covers all."""

    tenant = Text(max_length=64, required=False)
    queue = Text(max_length=100, required=False)
    name = Text(max_length=200, required=False)


class Why(Strict):
    """Why it is done, for the audit."""

    reason = Text(max_length=REASON_LENGTH_MAX, allow_blank=True, default="")


class Switch(Covering, Why):
    """The kill switch, as it is to be."""

    paused = Truth()
    for_seconds = Number(
        min_value=0.001, max_value=LONGEST_PAUSE_SECONDS, required=False, allow_null=True
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("for_seconds") and not attrs["paused"]:
            raise serializers.ValidationError({"for_seconds": "Only a pause can end by itself."})
        return attrs


class TaskFilter(Strict):
    """The query of the list of tasks."""

    tenant = Text(max_length=64, required=False)
    state = serializers.ChoiceField(STATES, required=False)
    name = Text(max_length=200, required=False)
    queue = Text(max_length=100, required=False)
    key = Text(max_length=255, required=False)
    label = Text(max_length=LABEL_LENGTH_MAX, required=False)  # type: ignore[assignment]  # the class keeps none
    created_after = Instant(required=False)
    created_before = Instant(required=False)
    finished_after = Instant(required=False)
    finished_before = Instant(required=False)
    cursor = Id(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=LARGEST_PAGE, default=PAGE)


class DeadLetterFilter(Strict):
    """Which dead letters. Without any part: all of them."""

    tenant = Text(max_length=64, required=False)
    name = Text(max_length=200, required=False)
    queue = Text(max_length=100, required=False)
    label = Text(max_length=LABEL_LENGTH_MAX, required=False)  # type: ignore[assignment]  # the class keeps none
    error_class = Text(max_length=200, required=False)
    dead_reason = serializers.ChoiceField([one.value for one in DeadReason], required=False)
    finished_after = Instant(required=False)
    finished_before = Instant(required=False)


class DeadLetters(Why):
    """Dead letters by the many, and whether they are only to be shown."""

    ids = serializers.ListField(child=Id(), min_length=1, max_length=LARGEST_BATCH, required=False)
    filter = DeadLetterFilter(required=False)
    limit = Whole(min_value=1, max_value=LARGEST_BATCH, required=False)
    preview = Truth(default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("ids" in attrs) == ("filter" in attrs):
            raise serializers.ValidationError(
                {"ids": "Say either `ids` or a `filter`; an empty filter is every dead letter."}
            )
        if "ids" in attrs and "limit" in attrs:
            raise serializers.ValidationError({"limit": "Only a filter is worked off in parts."})
        return attrs


class LimitsFilter(Strict):
    """Whose limits; an operator must say."""

    tenant = Text(max_length=64, required=False)


class QueuesFilter(LimitsFilter):
    """Whose queues, and after which name the page begins."""

    after = Text(max_length=100, required=False)


class Waiting(Strict):
    """For how many seconds an answer may be held."""

    wait = serializers.FloatField(min_value=0, max_value=SECONDS_MAX, default=0)
