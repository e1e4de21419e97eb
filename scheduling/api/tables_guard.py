"""Owns that nothing is read or written while the tables are not those of this code."""

from collections.abc import Callable
from typing import Any

from django.db import Error
from django.http import HttpRequest, HttpResponseBase

from scheduling import tables
from scheduling.api.v1 import problems
from scheduling.api.v1.kinds import Kind

Answerer = Callable[[HttpRequest], HttpResponseBase]


OURS = frozenset({"rentroll", "console"})
"""The namespaces of our addresses: those of others keep working."""
ABOUT_HEALTH = frozenset({"rentroll:health", "rentroll:ready"})


class TablesGuard:
    """Middleware that answers 503 to everybody but those who ask how the process is."""

    def __init__(self, get_response: Answerer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponseBase | None:
        """Django's hook between an address and its view."""
        found = request.resolver_match
        if found is None or OURS.isdisjoint(found.namespaces) or found.view_name in ABOUT_HEALTH:
            return None
        if state := what_differs():
            return problems.response(problems.Refused(Kind.UNAVAILABLE, state).problem, request)
        return None


def what_differs() -> str | None:
    """None as well when the ledger does not answer: whoever needs it will find out and say so."""
    try:
        tables.require_fit_once()
    except tables.TablesDiffer as error:
        return str(error)
    except Error:
        return None
    return None
