"""`/v1/docs`: the OpenAPI document as a page for people, without scripts and without any other host."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from scheduling.api.v1.openapi import document


@csrf_exempt  # it changes nothing, and a 403 about cookies would puzzle a program that posts here
@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Like the document it tells nothing about who uses the installation, so anybody may read it.

    Addresses are told with the prefix that the project has put them under, if it has.
    """
    published = document()
    prefix = request.path.removesuffix("/v1/docs")
    context = {
        "info": published["info"],
        "operations": [
            shown(prefix + path, method, operation)
            for path, methods in published["paths"].items()
            for method, operation in methods.items()
        ],
        "problems": [
            {"slug": slug, "title": one["summary"], "example": as_text(one["value"])}
            for slug, one in published["components"]["examples"].items()
        ],
        "schemas": {
            name: as_text(schema) for name, schema in published["components"]["schemas"].items()
        },
    }
    return render(request, "rentroll/docs.html", context)


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
            | {"problems": [name for name, one in examples_in(answer) if "$ref" in one]}
            for status, answer in sorted(operation["responses"].items())
        ],
        "examples": [
            {
                "name": name,
                "status": status,
                "asked": asked(operation, name),
                "text": as_text(one["value"]),
            }
            for status, answer in sorted(operation["responses"].items())
            for name, one in examples_in(answer)
            if "value" in one
        ],
    }


def asked(operation: dict[str, Any], name: str) -> str:
    """The body of the example of that name; empty when it has none."""
    sent = dict(examples_in(operation.get("requestBody", {}))).get(name)
    return as_text(sent["value"]) if sent else ""


def examples_in(carrier: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        example
        for content in carrier.get("content", {}).values()
        for example in content["examples"].items()
    ]


def as_text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def schema_in(carrier: dict[str, Any]) -> str:
    """The name of the schema that a body or an answer has; empty when it has none by name."""
    for content in carrier.get("content", {}).values():
        return str(content["schema"].get("$ref", "")).rpartition("/")[2]
    return ""
