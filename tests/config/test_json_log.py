"""`LOG_FORMAT=json`: an object for each event, with the attempt that was under way, and without secrets."""

import asyncio
import json
import logging
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from config.redaction import JsonFormatter
from scheduling import under_way

HUSH = secrets.token_urlsafe(32)
TASK_ID = UUID(int=7)


@dataclass(frozen=True)
class Attempt:
    tenant: str = "acme"
    task_id: UUID = TASK_ID
    name: str = "invoices.send"
    attempt: int = 2
    generation: int = 5


FIELDS = {
    "tenant": "acme",
    "task": str(TASK_ID),
    "name": "invoices.send",
    "attempt": 2,
    "generation": 5,
}


@pytest.fixture
def under_way_now() -> Iterator[None]:
    token = under_way.begin(Attempt())
    yield
    under_way.end(token)


def told(message: str, *args: object, exc_info: Any = None) -> dict[str, Any]:
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, message, args, exc_info)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    parsed: dict[str, Any] = json.loads(line)
    return parsed


def test_an_event_says_when_where_how_bad_and_what() -> None:
    event = told("said %s", 'a "b"\nc')
    assert datetime.fromisoformat(event.pop("time")).tzinfo is not None
    assert event.pop("process") > 0
    assert event == {"level": "ERROR", "logger": "x", "message": 'said a "b"\nc'}


@pytest.mark.usefixtures("under_way_now")
def test_what_is_logged_while_a_handler_runs_names_its_attempt() -> None:
    assert told("working").items() >= FIELDS.items()


def test_an_attempt_that_is_over_is_not_named_any_more() -> None:
    under_way.end(under_way.begin(Attempt()))
    assert not told("idle").keys() & FIELDS.keys()


@pytest.mark.usefixtures("under_way_now")
def test_a_coroutine_knows_its_attempt_too() -> None:
    async def work() -> dict[str, Any]:
        return told("working")

    assert asyncio.run(work()).items() >= FIELDS.items()


def test_neither_message_nor_exception_has_a_secret_and_both_stay_json() -> None:
    try:
        raise ValueError(f'{{"password": "{HUSH}"}} at postgres://me:{HUSH}@db.example/ledger')
    except ValueError:
        event = told("token='rr_%s'", HUSH, exc_info=sys.exc_info())
    assert HUSH not in json.dumps(event)
    assert "(left out)" in event["message"]
    assert "ValueError" in event["exception"]


def test_a_format_that_is_none_is_refused_with_those_that_are(tmp_path: Path) -> None:
    asked = [sys.executable, "manage.py", "check"]
    environment = {"DEBUG": "1", "DATA_DIR": str(tmp_path), "LOG_FORMAT": "xml"}
    said = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)
    assert said.returncode != 0
    assert "LOG_FORMAT is 'xml'; it may be line or json." in said.stderr


def test_a_program_logs_json_when_it_is_told_to(tmp_path: Path) -> None:
    code = "import django, logging; django.setup(); logging.getLogger('x').error('hello')"
    environment = {
        "DEBUG": "1",
        "DATA_DIR": str(tmp_path),
        "LOG_FORMAT": "json",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(said.stderr)["message"] == "hello"
