"""Owns the answers where no view was reached, or one broke down before it could tell."""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from scheduling.api.v1 import problems


@csrf_exempt  # nothing here changes anything, and a 403 about cookies would puzzle an API client
def no_such_address(request: HttpRequest) -> HttpResponseBase:
    """For whatever no view takes: with DEBUG on, Django would answer with a page."""
    return answer(request, Http404())


def answer(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    return problems.response(problems.problem_of(exception) or problems.fault_of_ours(), request)
