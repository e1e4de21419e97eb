"""Durations as people type them: `90s`, `10m`, `12h`, `30d`, `1h30m`. Pure."""

import re
from datetime import timedelta

LONGEST = timedelta(days=36_500)
"""A century: anything longer is a slip of the finger, and would overflow the calendar."""
UNITS = ("days", "hours", "minutes", "seconds")
_PATTERN = re.compile(r"(?:(\d{1,8})d)?(?:(\d{1,8})h)?(?:(\d{1,8})m)?(?:(\d{1,8})s)?", re.ASCII)


def parse(text: str) -> timedelta:
    """The duration, longer than zero and at most a century. Raises ValueError with a sentence for people."""
    match = _PATTERN.fullmatch(text.strip())
    amounts = map(int, match.groups(default="0")) if match else ()
    duration = timedelta(**dict(zip(UNITS, amounts, strict=False)))
    if not timedelta() < duration <= LONGEST:
        raise ValueError(f"{text!r} is no usable duration. Write it like 90s, 10m, 12h or 30d.")
    return duration


def spelled(duration: timedelta) -> str:
    """The same way back: `1h30m`. Less than a second is left out."""
    rest, spelled = round(duration.total_seconds()), ""
    for letter, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        spelled += f"{count}{letter}" if count else ""
    return spelled
