"""Owns what is left out of all that operators read beside the ledger: log lines, and Django's reports on errors.

Secrets are told by what they look like, and the installation's own by what they are. No code that logs has
to think of it; what carries a payload is not logged in the first place.
"""

import html
import json
import logging
import re
import traceback
from collections.abc import ItemsView
from datetime import UTC, datetime
from functools import cache
from types import FrameType
from typing import Any, cast
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from scheduling import under_way
from scheduling.conf import conf

LEFT_OUT = "(left out)"
LEAST_LENGTH = 8
"""A shorter secret would be found in ordinary words; and is none."""

_QUOTE = r"(?:['\"]|&\#?\w+;)*"  # as Python writes it, and as HTML escapes that
_VALUE_BEGINS = re.compile(r"[^\w ]")
_VALUE = r"[^\s'\"&,;<>]+"
RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\brr_[\w-]{20,}"), LEFT_OUT),  # tokens
    (re.compile(r"\bwhsec_[\w+/=-]+"), LEFT_OUT),  # what signs webhooks
    (re.compile(rf"\b(bearer|basic)\s+{_VALUE}", re.IGNORECASE), rf"\1 {LEFT_OUT}"),
    (re.compile(r"(://[^\s/:@]*):[^\s/]*@"), rf"\1:{LEFT_OUT}@"),  # the password in an address
    (
        re.compile(
            rf"((?:password|passwd|secret|token|api_?key|sessionid){_QUOTE}[=:]\s*{_QUOTE}){_VALUE}",
            re.IGNORECASE,
        ),
        rf"\1{LEFT_OUT}",
    ),
    (  # PostgreSQL quotes the row, what it could not read, and the statement with its values
        re.compile(r"^(DETAIL|CONTEXT|LINE \d+):.*", re.MULTILINE),
        rf"\1: {LEFT_OUT}",
    ),
)


def redacted(text: str) -> str:
    """The text without any secret in it."""
    for secret in known_secrets():
        text = text.replace(secret, LEFT_OUT)
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text


@cache
def known_secrets() -> tuple[str, ...]:
    """The installation's own, in every form in which they get into a text; longest first."""
    own = [settings.SECRET_KEY, conf().WEBHOOK_SECRET]
    own += [database.get("PASSWORD", "") for database in settings.DATABASES.values()]
    written = {form(secret) for secret in own for form in (str, quote, html.escape)}
    return tuple(sorted((text for text in written if len(text) >= LEAST_LENGTH), key=len)[::-1])


class ClassAndPlace(logging.Filter):
    """Of errors in code of others, logged by libraries that know no better: their class and where they were raised.

    What they say may hold a part of a payload: a receiver of a task's signals is given all of it.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[0]:
            kind, _, trace = record.exc_info
            place = "".join(traceback.format_tb(trace))
            record.args = (told_without_errors(record), place, kind.__qualname__)
            record.msg, record.exc_info = "%s\n%s%s", None
        return True


def told_without_errors(record: logging.LogRecord) -> str:
    """Its words, and no value: of a text that was put together before, what comes ahead of all values."""
    if not isinstance(record.args, tuple) or not record.args:
        return _VALUE_BEGINS.split(str(record.msg), maxsplit=1)[0]
    return str(record.msg) % tuple(
        type(arg).__qualname__ if isinstance(arg, BaseException) else arg for arg in record.args
    )


class Formatter(logging.Formatter):
    """Log lines without secrets. What a message has beyond its first line is indented: no line can be forged."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's name
        return "\n    ".join(super().formatMessage(record).splitlines())


class JsonFormatter(logging.Formatter):
    """The same as JSON, an object to a line, with the attempt that was under way as fields of their own."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": redacted(record.getMessage()),
        }
        if attempt := under_way.attempt():
            told |= {
                "tenant": attempt.tenant,
                "task": str(attempt.task_id),
                "name": attempt.name,
                "attempt": attempt.attempt,
                "generation": attempt.generation,
            }
        if record.exc_info:
            told["exception"] = redacted(self.formatException(record.exc_info))
        return json.dumps(told)


class Reporter(ExceptionReporter):
    """Django's report on an error, as a page while DEBUG is on or as a mail, without secrets."""

    def get_traceback_html(self) -> SafeString:
        return cast("SafeString", redacted(super().get_traceback_html()))

    def get_traceback_text(self) -> SafeString:
        return cast("SafeString", redacted(super().get_traceback_text()))


class ReporterFilter(SafeExceptionReporterFilter):
    """Hides variables, settings and headers by their names: also while DEBUG is on, where Django hides less."""

    hidden_settings = re.compile(
        SafeExceptionReporterFilter.hidden_settings.pattern + "|DATABASE_URL|HEADER", re.IGNORECASE
    )

    def is_active(self, request: HttpRequest | None) -> bool:
        return True

    def get_traceback_frame_variables(
        self, request: HttpRequest, tb_frame: FrameType
    ) -> ItemsView[str, Any]:
        variables = super().get_traceback_frame_variables(request, tb_frame)
        return {name: self.cleanse_setting(name, value) for name, value in variables}.items()
