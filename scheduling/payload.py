"""What may travel in a task: values that every JSON reader takes and every database stores. Pure.

Nearly all values are of JSON's own types and sound, which a glance tells. Only the others are walked with
care, with a list instead of recursion, so depth cannot exhaust the stack.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NoReturn, TypeAlias

from scheduling.errors import InvalidTask

MAX_DEPTH = 64
"""How many lists and objects may be nested in each other, the outermost counted."""
ENVELOPE_DEPTH = 3
"""What a request may wrap around a payload: an object, or a list of objects inside one."""
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**64 - 1
"""What readers with 64-bit integers can hold, signed or not."""
LONG_INTEGER = 32
"""Digits that are too many for any of them."""

Trail: TypeAlias = "tuple[Trail, object] | None"
"""Where a value was found, from the inside out. Put into words only for a fault."""


def check(value: object, field: str = "payload", *, depth: int = MAX_DEPTH) -> None:
    """Return if the value can be stored and sent as JSON; tuples, bytes of text and other mappings can.

    Raises InvalidTask naming the place of a fault, such as `payload.items[3].name`.
    """
    if not _is_plain(value, depth):
        _walk(value, field, depth)


def _walk(value: object, field: str, depth: int) -> None:
    waiting: list[tuple[object, Trail, int]] = [(value, None, 0)]
    while waiting:
        item, trail, level = waiting.pop()
        contents = _contents(item)
        if contents is None:
            if fault := _fault(item):
                raise InvalidTask({_place(field, trail): fault})
            continue
        if level == depth:
            raise InvalidTask({_place(field, None): _too_deep(depth)})
        for key, inner in contents:
            if fault := _key_fault(key, item):
                raise InvalidTask({_place(field, trail): fault})
            waiting.append((inner, (trail, key), level + 1))


def loads(body: bytes, *, depth: int = MAX_DEPTH + ENVELOPE_DEPTH) -> Any:
    """Parse JSON that came from outside.

    Raises InvalidTask under `body` for what is not JSON: other bytes than UTF-8, NaN and Infinity, one
    key twice in an object, more levels than `depth` (found before anything recurses); and under its own
    place for what JSON can say and a database cannot store: NUL, lone surrogates, oversized integers.
    """
    value = parse(body, depth=depth)
    check(value, field="", depth=depth)
    return value


def parse(body: bytes, *, depth: int = MAX_DEPTH + ENVELOPE_DEPTH) -> Any:
    """Parse JSON of which nobody knows yet whether it can be stored: `check` must be asked.

    Raises InvalidTask as `loads` does, under `body`.
    """
    if _is_deeper(body, depth):
        raise InvalidTask({"body": _too_deep(depth)})
    try:
        return _decoder.decode(body.decode("utf-8-sig"))  # some begin with a byte order mark
    except ValueError as error:
        raise InvalidTask({"body": f"is not JSON: {error}"}) from error


def reread(text: str) -> Any:
    """Parse JSON that the ledger holds. Raises ValueError, or RecursionError, if somebody made it unreadable.

    PostgreSQL writes numbers out in full, so an integer beyond 64 bits, which nobody could store, is what has
    become of a float such as 1e22.
    """
    return _reader.decode(text)


def dumps(value: object, field: str = "payload") -> str:
    """Compact JSON. Raises InvalidTask as `check` does."""
    check(value, field)
    return encode(value)


def in_order(value: object, encoded: str) -> str:
    """The JSON of a checked value with its names sorted, when it is known as it stands."""
    return _encode_in_order(value) if ":" in encoded else encoded  # no colon, no names


def fingerprint(*texts: str) -> str:
    """SHA-256, in hex, of texts that no line break is in, such as compact JSON."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def clean_text(text: str, limit: int) -> str:
    """The text in a form any database stores: NUL and lone surrogates escaped, at most `limit` characters.

    What is too long loses its middle, and says so there: an error is told by its beginning and its end.
    """
    if len(text) > limit:
        mark = f"\n… {len(text) - limit:,} characters left out …\n"
        kept = max(limit - len(mark), 0)
        text = text[: kept - kept // 2] + mark[:limit] + text[len(text) - kept // 2 :]
    return _UNSTORABLE.sub(_escape, text)


def _is_plain(value: Any, depth: int) -> bool:
    """Whether a glance tells that nothing is wrong. Something unusual may still turn out to be right."""
    kind = type(value)
    if is_sound := _SOUND.get(kind):
        return is_sound(value)
    if depth == 0:
        return False
    if kind is list or kind is tuple:
        return all(_is_plain(item, depth - 1) for item in value)
    if kind is dict:
        return all(type(name) is str and not _text_fault(name) for name in value) and all(
            _is_plain(item, depth - 1) for item in value.values()
        )
    return False


def _contents(value: object) -> Iterable[tuple[object, object]] | None:
    """The names or indexes and what stands there; None for what holds nothing."""
    match value:
        case dict() | Mapping():
            return value.items()
        case str() | int() | float() | bytes() | None:
            return None
        case Sequence():
            return enumerate(value)
        case _:
            return None


def _fault(value: object) -> str | None:
    match value:
        case str():
            return _text_fault(value)
        case bool() | None:
            return None
        case int():
            return None if INTEGER_MIN <= value <= INTEGER_MAX else "is an integer beyond 64 bits"
        case float():
            return None if math.isfinite(value) else f"is {value}, and JSON has no such number"
        case bytes():
            return _bytes_fault(value)
        case _:
            return f"is of type {type(value).__name__}, and JSON has no such value"


def _text_fault(text: str) -> str | None:
    if text.isascii() and "\0" not in text:  # nearly all of them, and ten times faster to tell
        return None
    unstorable = _UNSTORABLE.search(text)
    if unstorable is None:
        return None
    kind = "NUL" if unstorable[0] == "\0" else "half a surrogate pair"
    return f"contains {_escape(unstorable)} ({kind}), which cannot be stored"


def _bytes_fault(value: bytes) -> str | None:
    try:
        return _text_fault(value.decode())
    except UnicodeDecodeError:
        return "is bytes that are not UTF-8 text"


def _key_fault(key: object, container: object) -> str | None:
    if isinstance(key, str):
        return (fault := _text_fault(key)) and f"has a name that {fault}"
    if isinstance(container, Mapping):
        return f"has a name that is of type {type(key).__name__}, not a string"
    return None


def _too_deep(limit: int) -> str:
    return f"is nested deeper than {limit} levels"


def step(key: object) -> str:
    """How a place is told from the one it is in: `[3]` in a list, `.name` in an object."""
    return f"[{key}]" if isinstance(key, int) else f".{clean_text(str(key), 100)}"


def _place(field: str, trail: Trail) -> str:
    steps: list[str] = []
    while trail:
        trail, key = trail
        steps.append(step(key))
    return (field + "".join(reversed(steps))).removeprefix(".") or "body"


_SOUND: dict[type, Callable[[Any], bool]] = {
    str: lambda text: not _text_fault(text),
    int: lambda number: INTEGER_MIN <= number <= INTEGER_MAX,
    float: math.isfinite,
    bool: lambda _: True,
    type(None): lambda _: True,
}
"""How to tell of what JSON has itself, and only of that: not of what inherits from it."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def _is_deeper(body: bytes, depth: int) -> bool:
    """Whether brackets outside of strings are nested deeper than that."""
    if body.count(b"[") + body.count(b"{") <= depth:
        return False  # whatever their order
    brackets = _STRING.sub(b"", body).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > depth


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers disagree on which of two equal names counts, so one could be checked and the other run."""
    parsed = dict(pairs)
    if len(parsed) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise InvalidTask({"body": f"has {clean_text(twice, 100)!r} twice in one object"})
    return parsed


def _integer(digits: str) -> int:
    """What is beyond 64 bits stays beyond, for `check` to find; Python itself gives up at 4,300 digits."""
    return int(digits[:LONG_INTEGER])


def _integer_or_float(digits: str) -> int | float:
    if len(digits) > LONG_INTEGER:
        return float(digits)
    number = int(digits)
    return number if INTEGER_MIN <= number <= INTEGER_MAX else float(digits)


def _no_constant(name: str) -> NoReturn:
    raise InvalidTask({"body": f"has {name}, and JSON has no such number"})


def _plain(value: object) -> object:
    """What the encoder does not know by itself, as `check` lets it through and `django.tasks` defines it."""
    match value:
        case Mapping():
            return dict(value)
        case bytes():
            return value.decode()
        case Sequence():
            return list(value)
        case _:
            raise TypeError(f"{type(value).__name__} is not JSON")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_constant=_no_constant
)
_reader = json.JSONDecoder(parse_int=_integer_or_float)
_json = partial(
    json.JSONEncoder, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain
)
encode = _json().encode
"""Compact JSON of a value that was checked."""
_encode_in_order = _json(sort_keys=True).encode
