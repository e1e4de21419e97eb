"""Owns conditional requests (RFC 9110 §13): whether a client knows what it would be told, or edits what it has seen."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.utils.http import parse_etags
from rest_framework.request import Request

from scheduling import payload
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.problems import Refused


def tag_of(version: int, shown: Mapping[str, Any]) -> str:
    """The entity tag of something that is shown: another one whenever anything of it is another.

    It begins with the version, which counts the edits. An edit asks for no more than that, or nobody could edit what
    comes due every minute.
    """
    digest = hashlib.sha256(payload.encode(shown).encode()).hexdigest()[:16]
    return f'"{version}-{digest}"'


def is_known(request: Request, tag: str) -> bool:
    """Whether the client has just that already, by its If-None-Match."""
    known = {each.removeprefix("W/") for each in parse_etags(header(request, "IF_NONE_MATCH"))}
    return "*" in known or tag in known


def version_meant(request: Request, current: int, *, needed: bool) -> int | None:
    """The version that is to be changed, by If-Match; None for whichever there is.

    Raises Refused when it is not the current one, or when the client must say and does not.
    """
    asked = header(request, "IF_MATCH")
    if not asked:
        if needed:
            raise Refused(
                Kind.PRECONDITION_REQUIRED,
                "Send the ETag that you have seen as If-Match, or `If-Match: *` for whatever there is now.",
            )
        return None
    tags = parse_etags(asked)
    if "*" in tags:
        return None
    if not any(tag.startswith(f'"{current}-') for tag in tags):
        raise Refused(
            Kind.CHANGED, "It has been changed since you looked. Look again, then change it."
        )
    return current


def header(request: Request, name: str) -> str:
    text: str = request.META.get(f"HTTP_{name}", "")
    return text
