"""What is wrong with a rule, in words for people. Pure."""

from scheduling.errors import RentrollError

SHOWN = 40
"""Of a value that is refused, so many characters are repeated: enough to find it, never a page of it."""


class InvalidRecurrence(RentrollError, ValueError):
    """A rule that cannot be followed as it stands. `field` is the one to change, `message` what is wrong with it."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        self.message = message
        super().__init__(f"{field}: {message}")


def shown(text: str) -> str:
    """The text in quotes, escaped and cut short, for a message that repeats what somebody wrote."""
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
