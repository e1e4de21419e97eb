"""`/v1/docs`: the OpenAPI document as a page for people, without scripts and without any other host."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from scheduling.api.v1.openapi import document


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Like the document it tells nothing about who uses the installation, so anybody may read it."""
    published = document()
    context = {
        "info": published["info"],
        "operations": [
            shown(path, method, operation)
            for path, methods in published["paths"].items()
            for method, operation in methods.items()
        ],
        "schemas": {
            name: json.dumps(schema, indent=2)
            for name, schema in published["components"]["schemas"].items()
        },
    }
    return render(request, "api/docs.html", context)


def shown(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
        "parameters": [
            {**parameter, "shape": json.dumps(parameter["schema"])}
            for parameter in operation.get("parameters", ())
        ],
        "body": schema_in(operation.get("requestBody", {})),
        "answers": [
            {"status": status, "description": answer["description"], "schema": schema_in(answer)}
            for status, answer in sorted(operation["responses"].items())
        ],
    }


def schema_in(carrier: dict[str, Any]) -> str:
    """The name of the schema that a body or an answer has; empty when it has none by name."""
    for content in carrier.get("content", {}).values():
        return str(content["schema"].get("$ref", "")).rpartition("/")[2]
    return ""
