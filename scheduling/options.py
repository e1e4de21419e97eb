"""What may be asked of a task besides its payload: the ranges and forms of its options. Pure.

Each rule answers with what is wrong, or None. Declaring a task and enqueueing one obey the same rules.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

QUEUE_LENGTH_MAX = 100
NAME_LENGTH_MAX = 200
PRIORITY_MIN, PRIORITY_MAX = -100, 100
ATTEMPTS_MAX = 32_767
TIMEOUT_SECONDS_MAX = 24 * 3600
IDEMPOTENCY_KEY_LENGTH_MAX = 255
LABEL_LENGTH_MAX = 200
REASON_LENGTH_MAX = 500

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*", re.ASCII)
_PRINTABLE = re.compile(r"[\x20-\x7e]+", re.ASCII)
_BEYOND_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, separators of lines, and halves of surrogate pairs, which no database stores."""


def name_fault(value: object) -> str | None:
    return _word_fault(value, NAME_LENGTH_MAX)


def queue_fault(value: object) -> str | None:
    return _word_fault(value, QUEUE_LENGTH_MAX)


def priority_fault(value: object) -> str | None:
    return integer_fault(value, PRIORITY_MIN, PRIORITY_MAX)


def max_attempts_fault(value: object) -> str | None:
    return integer_fault(value, 1, ATTEMPTS_MAX)


def timeout_seconds_fault(value: object) -> str | None:
    return seconds_fault(value, TIMEOUT_SECONDS_MAX)


def idempotency_key_fault(value: object) -> str | None:
    if not isinstance(value, str) or not _PRINTABLE.fullmatch(value):
        return "must be printable ASCII text"
    return _length_fault(value, IDEMPOTENCY_KEY_LENGTH_MAX)


def label_fault(value: object) -> str | None:
    """It is found again by its exact text, so it has nothing at its ends that nobody sees."""
    if not isinstance(value, str) or _BEYOND_A_LINE.search(value):
        return "must be one line of text, without control characters"
    if not value or value != value.strip():
        return "must not be empty, and neither begin nor end with white space"
    return _length_fault(value, LABEL_LENGTH_MAX)


def timeout_fault(value: object) -> str | None:
    if not isinstance(value, timedelta):
        return "must be a timedelta"
    return timeout_seconds_fault(value.total_seconds())


def deadline_fault(value: object) -> str | None:
    if isinstance(value, timedelta):
        return None if value > timedelta() else "must lie ahead"
    if isinstance(value, datetime):
        return None if value.tzinfo else "must be an aware datetime"
    return "must be an aware datetime, or a timedelta from enqueueing"


def backoff_fault(value: object) -> str | None:
    return None if callable(value) else "must be a function from an attempt's number to a timedelta"


RULES: dict[str, Callable[[object], str | None]] = {
    "name": name_fault,
    "queue": queue_fault,
    "queue_name": queue_fault,
    "priority": priority_fault,
    "max_attempts": max_attempts_fault,
    "timeout": timeout_fault,
    "timeout_seconds": timeout_seconds_fault,
    "deadline": deadline_fault,
    "backoff": backoff_fault,
    "idempotency_key": idempotency_key_fault,
    "label": label_fault,
}
"""By the names that `@task` and the API give them."""


def faults(**given: object) -> dict[str, str]:
    """What is wrong with the options given; None stands for one that was not."""
    return {
        field: fault
        for field, value in given.items()
        if value is not None and (fault := RULES[field](value))
    }


def integer_fault(value: object, least: int, most: int) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        return f"must be a whole number from {least} to {most}"
    return None


def seconds_fault(value: object, most: int) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a number of seconds"
    if not 0 < value <= most:  # also refuses NaN
        return f"must be above 0 and at most {most} seconds"
    return None


def _word_fault(value: object, longest: int) -> str | None:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        return "must be letters, digits and . _ : - and begin with a letter, a digit or _"
    return _length_fault(value, longest)


def _length_fault(value: str, longest: int) -> str | None:
    return None if len(value) <= longest else f"must have at most {longest} characters"
