"""Owns how a request's body is read: JSON, bounded, whatever Content-Length or the chunks claim.

REST framework's own parsers would buffer up to Django's limit, see no body at all in a chunked request,
and parse nested JSON recursively. Views read through here and never touch `request.data`.
"""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from scheduling import payload
from scheduling.api.v1.kinds import Kind
from scheduling.api.v1.problems import Refused
from scheduling.errors import InvalidTask

MAX_BYTES = 1024 * 1024


def json_object(
    request: HttpRequest, *, needed: bool = True, load: Callable[[bytes], Any] = payload.loads
) -> dict[str, Any]:
    """The body as an object. Raises Refused or InvalidTask for anything else, and for none if it is needed."""
    text = read(request)
    if not text and not needed:
        return {}
    value = load(text) if text else None
    if not isinstance(value, dict):
        raise InvalidTask({"body": "must be a JSON object"})
    return value


def read(request: HttpRequest) -> bytes:
    """At most MAX_BYTES of JSON text. Raises Refused when there is more, less, or something else."""
    is_chunked = "HTTP_TRANSFER_ENCODING" in request.META
    if not is_chunked and request.META.get("CONTENT_LENGTH", "") in ("", "0"):
        return b""
    if request.content_type != "application/json":
        raise Refused(Kind.UNSUPPORTED_MEDIA_TYPE, "Send the body as `application/json`.")
    if request.META.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
        raise Refused(Kind.UNSUPPORTED_MEDIA_TYPE, "Send the body uncompressed.")
    return read_chunks(request) if is_chunked else read_measured(request)


def read_measured(request: HttpRequest) -> bytes:
    claimed = request.META["CONTENT_LENGTH"]
    if not claimed.isdecimal():
        raise Refused(Kind.MALFORMED_REQUEST, "Content-Length must be a number of bytes.")
    length = int(claimed)
    refuse_over_limit(length)
    body: bytes = request.read(length)
    if len(body) < length:
        raise Refused(Kind.MALFORMED_REQUEST, "The body ended before its Content-Length.")
    return body


def read_chunks(request: HttpRequest) -> bytes:
    """Django reads as much as Content-Length says, so a chunked body must be taken from the server."""
    if not request.META.get("wsgi.input_terminated"):
        raise Refused(Kind.LENGTH_REQUIRED, "Send a Content-Length; this server takes no chunks.")
    try:
        body: bytes = request.META["wsgi.input"].read(MAX_BYTES + 1)
    except Exception as error:  # every server has its own for a broken chunk
        raise Refused(Kind.MALFORMED_REQUEST, "The chunks could not be read.") from error
    refuse_over_limit(len(body))
    return body


def refuse_over_limit(length: int) -> None:
    if length > MAX_BYTES:
        raise Refused(Kind.BODY_TOO_LARGE, f"The body may have at most {MAX_BYTES} bytes.")
