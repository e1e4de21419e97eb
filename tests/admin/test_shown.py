"""Payloads are shown without what the installation calls secret."""

import json
from typing import Any

import pytest
from pytest_django import Settings

from scheduling.admin.shown import REDACTED, pretty


def shown(value: Any) -> Any:
    return json.loads(pretty(value))


@pytest.mark.parametrize("name", ["password", "dbPassword", "X-Api-Key", "apiKey", "Authorization"])
def test_secrets_are_told_by_their_names_at_any_depth(name: str) -> None:
    value = {"a": [{"b": {name: {"c": "hunter2"}, "city": "Zürich"}}]}
    assert shown(value) == {"a": [{"b": {name: REDACTED, "city": "Zürich"}}]}


def test_the_installation_says_what_is_secret(settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"CONSOLE_REDACT": ["iban"]}
    assert shown({"IBAN": "DE1", "password": "p"}) == {"IBAN": REDACTED, "password": "p"}


def test_everything_may_be_secret(settings: Settings) -> None:
    settings.RENTROLL = settings.RENTROLL | {"CONSOLE_REDACT": ["*"]}
    assert [shown(value) for value in ({"a": 1}, [1], 0, {}, None)] == [
        REDACTED,
        REDACTED,
        REDACTED,
        {},
        None,
    ]
