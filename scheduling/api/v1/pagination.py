"""Owns where the next page of a list is found: relative to this host, for a proxy may know it by another name."""

from django.http import HttpRequest


def further_on(request: HttpRequest, name: str, value: str) -> str:
    """The address of the same list from there on, as a parameter of its query says it."""
    query = request.GET.copy()
    query[name] = value
    return f"{request.path}?{query.urlencode()}"
