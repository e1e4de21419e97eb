"""Every kind of problem the API answers with. Clients rely on the slugs and statuses: they never change."""

from enum import Enum
from typing import Any


class Kind(Enum):
    """Status and title of one kind of problem. Its type is `/problems/` and its name, with hyphens."""

    MALFORMED_REQUEST = 400, "The request is malformed"
    INVALID_REQUEST = 400, "The request has invalid fields"
    UNAUTHENTICATED = 401, "Who is calling is not known"
    MISSING_SCOPE = 403, "The token may not be used for this"
    WRONG_TENANT = 403, "The token belongs to another tenant"
    NOT_FOUND = 404, "There is nothing at this address"
    UNKNOWN_TASK = 404, "There is no such task"
    UNKNOWN_RECURRING_TASK = 404, "There is no such recurring task"
    METHOD_NOT_ALLOWED = 405, "The address does not take this method"
    NOT_ACCEPTABLE = 406, "Nothing the client accepts can be sent"
    WRONG_STATE = 409, "The task is in the wrong state for this"
    STALE_LEASE = 409, "The lease is no longer yours"
    IDEMPOTENCY_KEY_IN_USE = 409, "A request with this idempotency key is still in progress"
    NAME_TAKEN = 409, "There is a recurring task of that name"
    TOO_MANY_RECURRING_TASKS = 409, "The tenant has as many recurring tasks as it may"
    DECLARED_IN_CODE = 409, "The recurring task is declared in code"
    OVERLAPPING = 409, "The run before is not over"
    LENGTH_REQUIRED = 411, "The length of the body is not known"
    CHANGED = 412, "It has been changed since"
    BODY_TOO_LARGE = 413, "The body is too large"
    UNSUPPORTED_MEDIA_TYPE = 415, "The body is not JSON"
    IDEMPOTENCY_KEY_REUSED = 422, "The idempotency key stands for another request"
    PRECONDITION_REQUIRED = 428, "Say which edition is to be changed"
    LIMIT_EXCEEDED = 429, "Over a limit of the tenant"
    INTERNAL_ERROR = 500, "A fault of ours"
    UNAVAILABLE = 503, "Temporarily unavailable"
    TEMPORARY_REDUCED_CAPACITY = 503, "No more work is taken for now"

    def __init__(self, status: int, title: str) -> None:
        self.status = status
        self.title = title

    @property
    def slug(self) -> str:
        return self.name.lower().replace("_", "-")

    def members(self, detail: str, instance: str) -> dict[str, Any]:
        """Of one problem of this kind (RFC 9457): what happened this time, and to the request for which address."""
        return {
            "type": f"/problems/{self.slug}",
            "title": self.title,
            "status": self.status,
            "detail": detail,
            "instance": instance,
        }
