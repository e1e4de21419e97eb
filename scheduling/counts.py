"""Owns how it is said how many there are of something."""


def counted(count: int, singular: str, plural: str = "") -> str:
    """`1 task`, `2,000 tasks`."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
