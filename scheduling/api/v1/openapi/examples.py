"""Owns the examples of the document: what was asked of a real server, and what it answered.

They are recorded in `examples.json`, and the tests hold the API to them; `make examples` records them anew.
"""

import json
from pathlib import Path
from typing import Any

from scheduling.api.v1.kinds import Kind

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_text())
"""By operation and by name: `{"status", "parameters", "request", "answer"}`. And problems, by kind."""


def show(operation: dict[str, Any]) -> None:
    """Put the examples of an operation into it."""
    for name, one in RECORDED["operations"].get(operation["operationId"], {}).items():
        for parameter in operation["parameters"]:
            if parameter["name"] in one["parameters"]:
                parameter.setdefault("example", one["parameters"][parameter["name"]])
        if "request" in one:
            add(operation["requestBody"], name, one["request"])
        if "answer" in one:
            add(operation["responses"][one["status"]], name, one["answer"])


def add(carrier: dict[str, Any], name: str, value: Any) -> None:
    """To the only media type that a body or an answer has."""
    [content] = carrier["content"].values()
    content.setdefault("examples", {})[name] = {"value": value}


def of_problems() -> dict[str, Any]:
    return {
        kind.slug: {"summary": kind.title, "value": RECORDED["problems"][kind.slug]}
        for kind in Kind
        if kind.slug in RECORDED["problems"]
    }
