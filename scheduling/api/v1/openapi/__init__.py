"""Owns `/v1/openapi.json`: the API as OpenAPI 3.1. The tests hold every answer against it."""

from functools import cache
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from scheduling import __version__
from scheduling.api.v1.base import JsonView
from scheduling.api.v1.openapi import dead_letters, examples, leases, recurring_schemas
from scheduling.api.v1.openapi.operations import PATHS
from scheduling.api.v1.openapi.schemas import SCHEMAS


@cache
def document() -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rentroll",
            "version": __version__,
            "description": (
                "A multi-tenant, durable task scheduler. Errors are problems (RFC 9457). A method"
                " that is not listed for an address is answered with 405, and the Allow header"
                " lists those that are."
            ),
        },
        "security": [{"token": []}],
        "paths": PATHS,
        "components": {
            "examples": examples.of_problems(),
            "schemas": SCHEMAS | dead_letters.SCHEMAS | leases.SCHEMAS | recurring_schemas.SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


class OpenApiView(JsonView):
    """The document. It tells nothing about who uses the installation, so anybody may read it."""

    def get(self, request: Request) -> Response:
        """With the prefix that the project has put all addresses under, if it has."""
        prefix = request.path.removesuffix("/v1/openapi.json")
        return Response(document() | ({"servers": [{"url": prefix}]} if prefix else {}))
