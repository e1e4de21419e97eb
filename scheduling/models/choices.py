"""How the words of an enumeration are offered where a column takes one of them."""

from enum import StrEnum


def choices(enum: type[StrEnum]) -> list[tuple[str, str]]:
    return [(member.value, member.value.replace("_", " ")) for member in enum]
