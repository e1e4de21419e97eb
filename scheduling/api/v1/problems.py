"""Owns how errors look outside: `application/problem+json` (RFC 9457), and which error becomes which.

`problem_of` is the one table from exceptions to problems. A new error gets its row there and nowhere else.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest, DisallowedHost, SuspiciousOperation
from django.db import InterfaceError, InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.utils.encoding import escape_uri_path
from django.utils.log import log_response
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.settings import api_settings

from scheduling import errors
from scheduling.api.v1 import coming_back, trouble
from scheduling.api.v1.kinds import Kind
from scheduling.recurrence import InvalidRecurrence
from tenants.permissions import MissingScope, WrongTenant

MEDIA_TYPE = "application/problem+json"
WHEN_TO_ASK_AGAIN: Mapping[Kind, Mapping[str, str]] = {
    Kind.IDEMPOTENCY_KEY_IN_USE: {"Retry-After": "1"},
    Kind.UNAVAILABLE: coming_back.in_trouble(5),
}
"""When to ask again about what nobody can foresee: guesses, long enough not to add to the trouble."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One answer to a request that failed. `extra` are further members that belong to its kind."""

    kind: Kind
    detail: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def members(self, path: str) -> dict[str, Any]:
        return {**self.kind.members(self.detail, escape_uri_path(path)), **self.extra}


class Refused(Exception):
    """Raised by the API itself, about what only HTTP knows."""

    def __init__(self, kind: Kind, detail: str, **extra: Any) -> None:
        self.problem = Problem(kind, detail, extra, WHEN_TO_ASK_AGAIN.get(kind, {}))
        super().__init__(detail)


def handler(error: Exception, context: Mapping[str, Any]) -> Response:
    """REST framework's hook. Also a fault of ours is answered here: with DEBUG on, Django would send a page."""
    request = context["request"]
    problem = problem_of(error) or fault_of_ours()
    answer = Response(
        problem.members(request.path),
        status=problem.kind.status,
        headers=dict(problem.headers),
        content_type=MEDIA_TYPE,
    )
    if problem.kind is Kind.INTERNAL_ERROR:
        log_response(
            "Internal Server Error: %s",
            request.path,
            response=answer,
            request=request._request,
            exception=error,
        )
    note_trouble(problem, answer, cause=error)
    return answer


def response(problem: Problem, request: HttpRequest) -> HttpResponse:
    """The same, to the letter, outside of REST framework."""
    members = problem.members(request.path)
    answer = HttpResponse(
        json.dumps(members, ensure_ascii=False, separators=(",", ":")) + "\n",
        status=problem.kind.status,
        headers=dict(problem.headers),
        content_type=MEDIA_TYPE,
    )
    note_trouble(problem, answer, cause=problem.detail)
    return answer


def note_trouble(problem: Problem, answer: Any, *, cause: object) -> None:
    """Trouble that passes is told now and then. Django would log each answer, and not say why."""
    if problem.kind.status == HTTPStatus.SERVICE_UNAVAILABLE:
        trouble.note(problem.kind, cause)
        answer._has_been_logged = True


@singledispatch
def problem_of(error: BaseException) -> Problem | None:
    """What the outside is told about an error; None about one that nobody foresaw."""
    return None


@problem_of.register
def _(error: Refused) -> Problem:
    return error.problem


# The ledger's errors


@problem_of.register
def _(error: errors.InvalidTask) -> Problem:
    return invalid(error.errors)


@problem_of.register
def _(error: errors.UnknownTask) -> Problem:
    # Word for word the same for an id that never was and for one the caller may not see.
    return Problem(Kind.UNKNOWN_TASK, "No task with this id belongs to you.")


@problem_of.register
def _(error: errors.WrongState) -> Problem:
    return Problem(Kind.WRONG_STATE, str(error), {"state": error.state})


@problem_of.register
def _(error: errors.StaleLease) -> Problem:
    return Problem(Kind.STALE_LEASE, str(error))


@problem_of.register
def _(error: errors.IdempotencyMismatch) -> Problem:
    if error.task_id is None:
        return Problem(Kind.IDEMPOTENCY_KEY_REUSED, str(error))
    detail = "This key was used before, with another body. Send a new task under a new key."
    return Problem(Kind.IDEMPOTENCY_KEY_REUSED, detail, {"task_id": str(error.task_id)})


@problem_of.register
def _(error: errors.LimitExceeded) -> Problem:
    extra = {"limit": error.limit, "allowed": error.allowed}
    return Problem(Kind.LIMIT_EXCEEDED, str(error), extra, coming_back.over(error))


@problem_of.register
def _(error: errors.Overloaded) -> Problem:
    headers = coming_back.in_trouble(coming_back.whole_seconds(error.retry_after))
    return Problem(Kind.TEMPORARY_REDUCED_CAPACITY, str(error), headers=headers)


@problem_of.register(OperationalError)
@problem_of.register(InterfaceError)
@problem_of.register(InternalError)  # how PostgreSQL says that it is read-only
def _(error: Exception) -> Problem:
    detail = "The ledger does not answer or has no room. Trying again is safe with a key."
    return Refused(Kind.UNAVAILABLE, detail).problem


@problem_of.register
def _(error: InvalidRecurrence) -> Problem:
    return invalid({error.field: error.message})


@problem_of.register
def _(error: errors.UnknownRecurring) -> Problem:
    return Problem(Kind.UNKNOWN_RECURRING_TASK, "No recurring task with this id belongs to you.")


@problem_of.register
def _(error: errors.NameTaken) -> Problem:
    return Problem(Kind.NAME_TAKEN, str(error))


@problem_of.register
def _(error: errors.TooManyRecurring) -> Problem:
    return Problem(Kind.TOO_MANY_RECURRING_TASKS, str(error), {"allowed": error.most})


@problem_of.register
def _(error: errors.Changed) -> Problem:
    return Problem(Kind.CHANGED, str(error))


@problem_of.register
def _(error: errors.DeclaredInCode) -> Problem:
    return Problem(Kind.DECLARED_IN_CODE, str(error))


@problem_of.register
def _(error: errors.Overlapping) -> Problem:
    task_id = str(error.task_id) if error.task_id else None
    return Problem(Kind.OVERLAPPING, str(error), {"task_id": task_id})


# HTTP


@problem_of.register
def _(error: drf.ValidationError) -> Problem:
    return invalid(dict(flattened(error.detail)))


@problem_of.register
def _(error: drf.NotAuthenticated) -> Problem:
    challenge = {"WWW-Authenticate": getattr(error, "auth_header", "Bearer")}
    detail = "Send a token: `Authorization: Bearer <token>`."
    return Problem(Kind.UNAUTHENTICATED, detail, headers=challenge)


@problem_of.register
def _(error: drf.AuthenticationFailed) -> Problem:
    challenge = getattr(error, "auth_header", "Bearer") + ', error="invalid_token"'
    return Problem(Kind.UNAUTHENTICATED, str(error.detail), headers={"WWW-Authenticate": challenge})


@problem_of.register
def _(error: MissingScope) -> Problem:
    challenge = f'Bearer error="insufficient_scope", scope="{error.scope}"'
    return Problem(
        Kind.MISSING_SCOPE,
        str(error.detail),
        {"scope": str(error.scope)},
        {"WWW-Authenticate": challenge},
    )


@problem_of.register
def _(error: WrongTenant) -> Problem:
    return Problem(Kind.WRONG_TENANT, str(error.detail))


@problem_of.register
def _(error: Http404) -> Problem:
    return Problem(Kind.NOT_FOUND, "No such address. Those of the API begin with /v1/.")


@problem_of.register
def _(error: drf.MethodNotAllowed) -> Problem:
    return Problem(Kind.METHOD_NOT_ALLOWED, "The Allow header lists the methods that it takes.")


@problem_of.register
def _(error: drf.NotAcceptable) -> Problem:
    detail = "Answers are application/json, problems application/problem+json. Accept at least one."
    return Problem(Kind.NOT_ACCEPTABLE, detail)


@problem_of.register
def _(error: DisallowedHost) -> Problem:
    return Problem(Kind.MALFORMED_REQUEST, "This server does not answer to that Host header.")


@problem_of.register(SuspiciousOperation)
@problem_of.register(BadRequest)
@problem_of.register(UnreadablePostError)
def _(error: Exception) -> Problem:
    return Problem(Kind.MALFORMED_REQUEST, "The request could not be understood.")


# Parts


def fault_of_ours() -> Problem:
    return Problem(
        Kind.INTERNAL_ERROR, "The fault has been logged. Trying again is safe with a key."
    )


def invalid(faults: Mapping[str, str]) -> Problem:
    """The request is well formed, and some of its fields cannot be: `faults` says which and why."""
    listed = [{"field": name, "detail": fault} for name, fault in faults.items()]
    detail = "Nothing was changed. `errors` says what is wrong with which field."
    return Problem(Kind.INVALID_REQUEST, detail, {"errors": listed})


def flattened(detail: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """REST framework's nested errors as (field, sentence) pairs."""
    match detail:
        case Mapping():
            for name, below in detail.items():
                yield from flattened(below, within(path, str(name)))
        case list():
            yield path, " ".join(map(str, detail))
        case _:
            yield path, str(detail)


def within(path: str, name: str) -> str:
    """What REST framework says of an object as a whole belongs to the object."""
    if name == api_settings.NON_FIELD_ERRORS_KEY:
        return path or "body"
    return f"{path}.{name}" if path else name
