"""Owns Django's own 400, 403, 404 and 500: the console's are pages for people, and all others are problems."""

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views import defaults

from scheduling.api.v1 import problems
from scheduling.api.v1.fallbacks import answer


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


def is_for_people(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("console:index"))
