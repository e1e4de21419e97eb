"""What comes of a delivery."""

from dataclasses import dataclass

from scheduling.errors import RentrollError


class DeliveryFailed(RentrollError):
    """The request got no answer, or one that says to try again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. The body is text that can be stored, cut where it was too long."""

    status: int
    retry_after: str | None
    body: str
    is_truncated: bool
