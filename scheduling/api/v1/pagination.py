"""Owns where the next page of a list is found: relative to this host, for a proxy may know it by another name."""

from django.http import HttpRequest


def further_on(request: HttpRequest, cursor: str) -> str:
    """The address of the same list from a cursor on."""
    query = request.GET.copy()
    query["cursor"] = cursor
    return f"{request.path}?{query.urlencode()}"
