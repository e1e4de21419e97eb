"""Owns how a value gets from a column on SQLite to the same column on PostgreSQL, and when two values are the same.

SQLite keeps whatever is written into a column, so each value is looked at before PostgreSQL is asked to take it,
which then keeps it exactly: numbers to the last bit, instants to the microsecond, text as it is. JSON is kept by its
value. PostgreSQL forgets the order of names in an object and the spelling of numbers; `1e16` reads as an integer
afterwards, as it does when it is enqueued there.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import models
from django.db.backends.base.operations import BaseDatabaseOperations

from scheduling import payload
from scheduling.errors import InvalidTask

RANGES = BaseDatabaseOperations.integer_field_ranges
TEXTS = {"CharField", "SlugField", "TextField", "EmailField", "URLField", "FilePathField"}
HEX = re.compile("[0-9a-f]{32}")
ALWAYS_FIT = frozenset({"[]", "{}", "null", "true", "false", '""'})
"""JSON that most columns hold, and nobody needs to parse."""
OFTEN_MET = 64
"""Characters of JSON that may well be met again soon."""


class Unfit(ValueError):
    """A value that PostgreSQL would not take, or that nobody could read there. Says what it is."""


class UnknownKind(Exception):
    """A field of a model whose values the move does not know how to read."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a column holds.

    `read` makes of what SQLite has what PostgreSQL is sent, and would answer; it raises Unfit. `same` makes of
    either what is equal, and has equal `repr`, exactly if the values are the same.
    """

    read: Callable[[Any], Any]
    same: Callable[[Any], Any]
    on_postgresql: str = "{}"
    """How the column is selected there."""


def kind_of(field: "models.Field[Any, Any]") -> Kind:
    """Raises UnknownKind."""
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    name = field.get_internal_type()
    if name in RANGES:
        return Kind(whole(*RANGES[name]), itself)
    if name in TEXTS:
        return Kind(text(field.max_length), itself)
    if kind := KINDS.get(name):
        return kind
    raise UnknownKind(f"{field.model._meta.label}.{field.name} is a {name}")


def itself(value: Any) -> Any:
    return value


def whole(least: int, most: int) -> Callable[[Any], int]:
    def read(raw: Any) -> int:
        if type(raw) is not int:
            raise Unfit(f"{shown(raw)} is no whole number")
        if not least <= raw <= most:
            raise Unfit(f"{raw} is not between {least} and {most}")
        return raw

    return read


def number(raw: Any) -> float:
    if type(raw) is not float:
        raise Unfit(f"{shown(raw)} is no number")
    return raw


def truth(raw: Any) -> bool:
    if type(raw) is not int or raw not in (0, 1):
        raise Unfit(f"{shown(raw)} is neither 0 nor 1")
    return bool(raw)


def text(limit: int | None) -> Callable[[Any], str]:
    def read(raw: Any) -> str:
        if type(raw) is not str:
            raise Unfit(f"{shown(raw)} is no text")
        if limit is not None and len(raw) > limit:
            raise Unfit(f"{shown(raw)} is longer than {limit} characters")
        require_storable(raw)
        return raw

    return read


def require_storable(value: object) -> None:
    """Bytes that are no UTF-8 have been read as lone surrogates, so they are found here too."""
    try:
        payload.check(value, "it")
    except InvalidTask as error:
        raise Unfit(
            "; ".join(f"{place} {fault}" for place, fault in error.errors.items())
        ) from error


def identifier(raw: Any) -> UUID:
    if type(raw) is not str or not HEX.fullmatch(raw):
        raise Unfit(f"{shown(raw)} is no UUID of 32 hexadecimal digits")
    return UUID(raw)


def instant(raw: Any) -> datetime:
    try:
        read = datetime.fromisoformat(raw)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise Unfit(f"{shown(raw)} is no date and time") from None


def span(raw: Any) -> timedelta:
    try:
        return timedelta(microseconds=whole(*RANGES["BigIntegerField"])(raw))
    except OverflowError:
        raise Unfit(f"{raw} microseconds are too many") from None


def document(raw: Any) -> str:
    """The text as it stands, if it is JSON that everybody can read."""
    if type(raw) is not str:
        raise Unfit(f"{shown(raw)} is no JSON")
    if raw not in ALWAYS_FIT:
        try:
            value = payload.reread(raw)
        except (ValueError, RecursionError) as error:
            raise Unfit(f"{shown(raw)} is no JSON: {error}") from error
        require_storable(value)
    return raw


def meaning(written: str) -> str:
    """JSON in the one form that all spellings of the same value have in common."""
    return _meaning_met_often(written) if len(written) <= OFTEN_MET else _meaning(written)


def _meaning(written: str) -> str:
    return _encode(_decode(written))


_meaning_met_often = lru_cache(maxsize=4096)(_meaning)


def _fraction(digits: str) -> int | float:
    value = float(digits)
    return int(value) if value.is_integer() else value


def _integer(digits: str) -> int | float:
    if len(digits) > payload.LONG_INTEGER:
        return _fraction(digits)
    value = int(digits)
    within = payload.INTEGER_MIN <= value <= payload.INTEGER_MAX
    return value if within else _fraction(digits)


_decode = json.JSONDecoder(parse_int=_integer, parse_float=_fraction).decode
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def in_utc(value: datetime) -> str:
    return value.astimezone(UTC).isoformat()


def shown(raw: Any) -> str:
    """Enough of it to be recognised."""
    words = ascii(raw)
    return words if len(words) <= 60 else f"{words[:57]}…"


KINDS = {
    "BooleanField": Kind(truth, itself),
    "DateTimeField": Kind(instant, in_utc),
    "DurationField": Kind(span, itself),
    "FloatField": Kind(number, itself),
    "JSONField": Kind(document, meaning, on_postgresql="{}::text"),
    "UUIDField": Kind(identifier, itself),
}
