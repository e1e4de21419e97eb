"""A client that speaks JSON, and what tests of the API ask for again and again."""

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from django.test import Client

if TYPE_CHECKING:  # what the client returns has more to it, and a name in the stubs only
    from django.test.client import _MonkeyPatchedWSGIResponse

Response: TypeAlias = "_MonkeyPatchedWSGIResponse"


class Api:
    """The API as one caller sees it. A fault of ours is answered with 500, as outside of tests."""

    def __init__(self, secret: str = "") -> None:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self.client = Client(headers=headers, raise_request_exception=False)

    def get(self, path: str, **headers: str) -> Response:
        return self.client.get(path, headers=named(headers))

    def post(self, path: str, body: Any = "", **headers: str) -> Response:
        return self.send("POST", path, body, **headers)

    def put(self, path: str, body: Any, **headers: str) -> Response:
        return self.send("PUT", path, body, **headers)

    def send(self, method: str, path: str, body: Any = "", **headers: str) -> Response:
        """Bytes and text go as they are, anything else as JSON."""
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.client.generic(method, path, data, content_type=JSON, headers=named(headers))

    def enqueue(self, key: str | None = None, **body: Any) -> Response:
        """Enqueue `demo.echo`, or what the body says instead."""
        whole = {"name": "demo.echo", "payload": {"message": "hello"}, **body}
        return self.post("/v1/tasks", whole, **({"idempotency_key": key} if key else {}))


JSON = "application/json"


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def problem(response: Response) -> tuple[int, str]:
    """Status and kind of a problem, after a look at its form."""
    assert response["Content-Type"] == "application/problem+json", response.content
    members = response.json()
    assert members["status"] == response.status_code
    assert members["title"]
    assert members["detail"]
    assert members["instance"].startswith("/")
    return response.status_code, members["type"].removeprefix("/problems/")


def faults(response: Response) -> dict[str, str]:
    """What an `invalid-request` says about each field."""
    assert problem(response) == (400, "invalid-request"), response.content
    return {error["field"]: error["detail"] for error in response.json()["errors"]}
