"""Payloads and results as people read them: indented, cut where they are long, and without what is secret."""

import json
from collections.abc import Iterable
from typing import Any

from scheduling.admin.words import number
from scheduling.conf import conf

TEXT_SHOWN = 20_000
REDACTED = "(redacted)"
EVERYTHING = "*"


def pretty(value: Any) -> str:
    """JSON. Long values are cut, and say so."""
    text = json.dumps(redacted(value), indent=2, ensure_ascii=False)
    if len(text) <= TEXT_SHOWN:
        return text
    return f"{text[:TEXT_SHOWN]}\n… and {number(len(text) - TEXT_SHOWN)} more characters"


def redacted(value: Any) -> Any:
    """Without what stands under a name that the setting CONSOLE_REDACT mentions, at any depth."""
    secret = [word.casefold() for word in conf().CONSOLE_REDACT]
    if EVERYTHING in secret:
        return REDACTED if value not in (None, {}, []) else value
    return _redacted(value, secret)


def _redacted(value: Any, secret: Iterable[str]) -> Any:
    if isinstance(value, dict):
        return {
            name: REDACTED if _is_secret(name, secret) else _redacted(member, secret)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_redacted(member, secret) for member in value]
    return value


def _is_secret(name: Any, secret: Iterable[str]) -> bool:
    """`api_key` is meant by `apikey`, and so is `X-Api-Key`."""
    letters = str(name).casefold().replace("-", "").replace("_", "")
    return any(word.replace("-", "").replace("_", "") in letters for word in secret)
