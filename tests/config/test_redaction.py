"""No secret gets into a log line or a report on an error."""

import asyncio
import gc
import logging
import sys
from collections.abc import Iterator

import pytest
from django.db import IntegrityError, connection
from django.dispatch import Signal
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from config import redaction
from config.redaction import redacted
from scheduling.builtin import signing
from scheduling.models import Task
from tenants.admin import IssueForm
from tenants.models import ApiToken, Tenant

HUSH = "q7-Wm_t4" * 5


@pytest.fixture(autouse=True)
def known_anew() -> Iterator[None]:
    """The settings of a test are read in it, and forgotten with it."""
    redaction.known_secrets.cache_clear()
    yield
    redaction.known_secrets.cache_clear()


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {HUSH}",
        f"{{'Authorization': 'Bearer {HUSH}'}}",
        f"{{&#x27;HTTP_AUTHORIZATION&#x27;: &#x27;Bearer {HUSH}&#x27;}}",
        f"authorization: basic {HUSH}",
        f"rr_{HUSH}",
        f"the token 'rr_{HUSH}' is not known",
        f"whsec_{HUSH}==",
        f"postgres://ledger:{HUSH}@db.example:5432/ledger",
        f"postgres://ledger:p@{HUSH}@db.example/ledger",
        f"host=db.example password={HUSH} dbname=ledger",
        f"GET /admin/?token={HUSH}&x=1",
        f'{{"password": "{HUSH}"}}',
        f"{{&#x27;client_secret&#x27;: &#x27;{HUSH}&#x27;}}",
        f"Cookie: sessionid={HUSH}; theme=dark",
        f"new row violates a constraint\nDETAIL:  Failing row contains (1, {HUSH}).",
        f"invalid input syntax for type json\nLINE 1: SELECT '{HUSH}'",
        f"invalid input syntax for type json\nCONTEXT:  JSON data, line 1: {HUSH}",
    ],
)
def test_what_looks_like_a_secret_is_left_out(text: str) -> None:
    assert HUSH not in redacted(text)
    assert redaction.LEFT_OUT in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "demo.echo 0198f5a2-8f1c-7000-8000-1a2b3c4d5e6f failed on attempt 1 of 3: builtins.ValueError",
        "The use of token 3f786850e387 could not be noted.",
        "Listening at: http://127.0.0.1:8000 (42)",
        "connection to https://hooks.example:8443/path failed",
        "Idempotency-Key: order-17",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text


def test_the_installations_own_secrets_are_known_in_every_form(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SECRET_KEY = f"{HUSH}&<"
    settings.RENTROLL = settings.RENTROLL | {"WEBHOOK_SECRET": "hook-" + HUSH[::-1]}
    monkeypatch.setitem(settings.DATABASES["default"], "PASSWORD", "p@ss/word-of-the-ledger")
    text = f"{HUSH}&< {HUSH}&amp;&lt; hook-{HUSH[::-1]} p@ss/word-of-the-ledger p%40ss/word-of-the-ledger"
    assert redacted(text) == " ".join([redaction.LEFT_OUT] * 5)


def test_a_log_line_has_neither_secrets_nor_lines_that_somebody_forged() -> None:
    formatter = redaction.Formatter("{levelname} {message}", style="{")
    try:
        raise ValueError(f"postgres://me:{HUSH}@db.example/ledger")
    except ValueError:
        told = logging.LogRecord(
            "x", logging.ERROR, __file__, 1, "said %s", (f"a\nERROR b\rrr_{HUSH}",), sys.exc_info()
        )
    lines = formatter.format(told).splitlines()
    assert lines[:4] == [
        "ERROR said a",
        "    ERROR b",
        "    (left out)",
        "Traceback (most recent call last):",
    ]
    assert HUSH not in "".join(lines)
    assert lines[-1] == "ValueError: postgres://me:(left out)@db.example/ledger"


def test_every_log_line_passes_through_it() -> None:
    """Of our own programs and of what they use: nothing has a handler of its own."""
    with_handlers = {
        name
        for name in logging.root.manager.loggerDict
        for handler in logging.getLogger(name).handlers
        if not isinstance(handler, logging.NullHandler)
    }
    assert with_handlers == set()
    assert redaction.Formatter in {type(handler.formatter) for handler in logging.root.handlers}


@pytest.mark.django_db
def test_what_the_database_quotes_of_a_row_is_left_out(tenant_a: Tenant) -> None:
    with pytest.raises(IntegrityError) as refused:
        Task.objects.create(tenant=tenant_a, name="x", state="no state", kwargs={"card": HUSH})
    assert HUSH not in redacted(str(refused.value))
    if connection.vendor == "postgresql":
        assert HUSH in str(refused.value)  # or there is nothing to leave out


@pytest.mark.django_db
@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
def test_djangos_report_on_an_error_hides_every_secret(
    debug: bool,
    accept: str,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    admin_client: Client,
) -> None:
    """While a token is issued: its secret is in a variable of the view that breaks."""
    settings.DEBUG = debug
    issued: list[str] = []

    def breaks_down(form: IssueForm) -> tuple[ApiToken, str]:
        _, secret = ApiToken.objects.issue(tenant=None)
        issued.append(secret)
        carried = {"Authorization": f"Bearer {secret}", "nested": [secret]}
        raise RuntimeError(f"{len(carried)} of {signing.secret_of('tenant-a')} and {secret}")

    monkeypatch.setattr(IssueForm, "issue", breaks_down)
    admin_client.raise_request_exception = False
    answer = admin_client.post(
        reverse("admin:tenants_apitoken_add"),
        {"scopes": ["read"]},
        headers={"Accept": accept, "Authorization": f"Bearer {HUSH}"},
    )
    assert answer.status_code == 500
    page = answer.content.decode()
    assert ("RuntimeError" in page) is debug
    session = admin_client.cookies["sessionid"].value
    for secret in (*issued, HUSH, settings.SECRET_KEY, signing.secret_of("tenant-a"), session):
        assert secret not in page


class TestErrorsInCodeOfOthers:
    """Whatever library logs them, their class and place are told and what they say is not."""

    def test_a_receiver_of_a_tasks_signals(self, caplog: pytest.LogCaptureFixture) -> None:
        def receiver(**of_signal: object) -> None:
            raise ValueError(f"cannot bill {HUSH}") from KeyError(HUSH)

        signal = Signal()
        signal.connect(receiver, weak=False)
        signal.send_robust(None)
        self.require_class_and_place(caplog, "receiver in Signal.send_robust() (ValueError)")

    def test_a_coroutine_that_nobody_awaits(self, caplog: pytest.LogCaptureFixture) -> None:
        async def left_alone() -> None:
            raise ValueError(HUSH)

        async def handler() -> None:
            one = asyncio.ensure_future(left_alone())
            await asyncio.wait([one])

        asyncio.run(handler())
        gc.collect()
        self.require_class_and_place(caplog, "Task exception was never retrieved")

    def test_a_callback_of_the_event_loop(self, caplog: pytest.LogCaptureFixture) -> None:
        def callback(payload: str) -> None:
            raise ValueError(payload)

        async def handler() -> None:
            asyncio.get_running_loop().call_soon(callback, HUSH)
            await asyncio.sleep(0)

        asyncio.run(handler())
        self.require_class_and_place(caplog, "Exception in callback")

    def require_class_and_place(self, caplog: pytest.LogCaptureFixture, told: str) -> None:
        (record,) = caplog.records
        for formatter in (redaction.Formatter("%(message)s"), redaction.JsonFormatter()):
            line = formatter.format(record)
            assert told in line
            assert "ValueError" in line
            assert "test_redaction.py" in line
            assert HUSH not in line
