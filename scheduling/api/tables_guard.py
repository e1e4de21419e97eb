"""Owns that nothing is read or written while the tables are not those of this code."""

from collections.abc import Callable

from django.db import Error
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse

from scheduling import tables
from scheduling.api.v1 import problems
from scheduling.api.v1.kinds import Kind

Answerer = Callable[[HttpRequest], HttpResponseBase]


class TablesGuard:
    """Middleware that answers 503 to everybody but those who ask how the process is."""

    def __init__(self, get_response: Answerer) -> None:
        self.get_response = get_response
        self.about_health = {reverse("health"), reverse("ready")}

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path not in self.about_health and (state := what_differs()):
            return problems.response(problems.Refused(Kind.UNAVAILABLE, state).problem, request)
        return self.get_response(request)


def what_differs() -> str | None:
    """None as well when the ledger does not answer: whoever needs it will find out and say so."""
    try:
        tables.require_fit_once()
    except tables.TablesDiffer as error:
        return str(error)
    except Error:
        return None
    return None
