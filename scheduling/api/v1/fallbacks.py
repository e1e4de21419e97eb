"""Owns the answers where no view was reached, or one broke down: Django's own 400, 403, 404 and 500.

The console speaks to people and keeps Django's pages; everything else gets a problem.
"""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt

from scheduling.api.v1 import problems


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    if is_for_people(request):
        return defaults.bad_request(request, exception)
    return answer(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    if is_for_people(request):
        return defaults.permission_denied(request, exception)
    return answer(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    if is_for_people(request):
        return defaults.page_not_found(request, exception)
    return answer(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    if is_for_people(request):
        return defaults.server_error(request)
    return problems.response(problems.fault_of_ours(), request)


@csrf_exempt  # nothing here changes anything, and a 403 about cookies would puzzle an API client
def no_such_address(request: HttpRequest) -> HttpResponseBase:
    """For whatever no view takes, the console's apart: with DEBUG on, Django would answer with a page."""
    return answer(request, Http404())


def answer(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    return problems.response(problems.problem_of(exception) or problems.fault_of_ours(), request)


def is_for_people(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))
