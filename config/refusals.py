"""Owns what the server answers by itself, without asking the application: in the form of the API's problems."""

import json
import socket
from typing import Any

from gunicorn import util  # type: ignore[import-untyped]  # no stubs

from config.headers import HEADERS
from scheduling.api.v1 import coming_back
from scheduling.api.v1.kinds import Kind

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER = 1


def turn_away(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Overload: as the API would put it."""
    kind = Kind.UNAVAILABLE
    detail = "More requests wait than can be answered in time. Nothing was changed; try again."
    body = json.dumps(kind.members(detail, environ["PATH_INFO"])).encode()
    headers = {**headers_of(body), **coming_back.in_trouble(RETRY_AFTER)}
    start_response("503 Service Unavailable", list(headers.items()))
    return [body]


def refuse_unread(client: socket.socket, status: int, reason: str, detail: str) -> None:
    """In place of gunicorn's page, for a request that cannot be read: nobody knows what it asks for."""
    told = {"type": "about:blank", "title": reason, "status": status, "detail": detail or reason}
    body = json.dumps(told).encode()
    headers = {"Connection": "close", **headers_of(body)}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    util.write_nonblock(
        client, f"HTTP/1.1 {status} {reason}\r\n{head}\r\n".encode("latin-1") + body
    )


def headers_of(body: bytes) -> dict[str, str]:
    return {"Content-Type": MEDIA_TYPE, "Content-Length": str(len(body)), **HEADERS}
