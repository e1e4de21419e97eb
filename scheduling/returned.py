"""What a handler may give back: JSON of a bounded size. Pure."""

from typing import Any

from scheduling import payload
from scheduling.errors import InvalidTask

RESULT_LIMIT = 1024 * 1024
"""Bytes of JSON. What is larger belongs into a store of its own, with the result saying where."""


def as_json(result: Any) -> str:
    """The result as it is kept. Raises InvalidTask for one that JSON cannot say, or that is too large."""
    if result is None:
        return "null"
    result_json = payload.dumps(result, field="result")
    check_size(result_json)
    return result_json


def check_size(result_json: str) -> None:
    """Raises InvalidTask for what is too large to keep."""
    size = len(result_json.encode())
    if size > RESULT_LIMIT:
        raise InvalidTask(
            {"result": f"is {size:,} bytes of JSON, and at most {RESULT_LIMIT:,} are kept"}
        )
