"""`http.request`: put work on the ledger in any language, and receive it in any other."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPMethod, HTTPStatus
from typing import Any

from scheduling import __version__, clock, payload, retry
from scheduling.builtin import signing
from scheduling.builtin.answer import Answer, DeliveryFailed
from scheduling.compat import task
from scheduling.context import Context
from scheduling.errors import PermanentFailure, RetryAfter

METHODS = frozenset(HTTPMethod) - {HTTPMethod.CONNECT, HTTPMethod.TRACE}
SOONEST = timedelta(seconds=1)
SAID = 500
"""Characters of an answer that go into the error message."""

OURS = re.compile(
    r"host|content-length|accept-encoding|idempotency-key|webhook-.*|rentroll-.*"
    r"|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect",
    re.IGNORECASE,
)
"""Headers that say what the request is, or that belong to the connection; no tenant sets them."""
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*", re.ASCII)
TRY_AGAIN = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)
MAY_NAME_A_TIME = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


@task(name="http.request", max_attempts=10, timeout=timedelta(seconds=60))
def request(
    context: Context,
    url: str,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    body: Any = None,
) -> dict[str, Any]:
    """Deliver a signed request; any 2xx answer is success, and is kept up to 16 KiB.

    408, 425, 429, 5xx and no answer are retried, at the time a `Retry-After` of 429 and 503 names; every other
    answer, redirects among them, is a failure for good. `webhook-id` is the same in all attempts.
    """
    # Here, for every program knows this task, and most need no client for HTTP, which takes long to load.
    from scheduling.builtin import delivery

    content = None if body is None else payload.encode(body).encode()
    sent = checked(headers or {}) | identity(context, content or b"")
    if content is not None:
        sent.setdefault("content-type", "application/json")
    sent.setdefault("user-agent", f"Rentroll/{__version__}")
    if context.traceparent is not None:
        sent.setdefault("traceparent", context.traceparent)
    started = clock.monotonic()
    answer = delivery.send(checked_method(method), url, sent, content, attempt=context.attempt)
    raise_unless_delivered(answer)
    return {
        "status": answer.status,
        "body": answer.body,
        "truncated": answer.is_truncated,
        "elapsed_ms": round((clock.monotonic() - started) * 1000),
    }


def identity(context: Context, body: bytes) -> dict[str, str]:
    """The headers by which a receiver tells who sends, which message this is, and which attempt at it."""
    message_id = str(context.task_id)
    timestamp = int(clock.now().timestamp())
    secret = signing.secret_of(context.tenant)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signing.signature(secret, message_id, timestamp, body),
        "idempotency-key": message_id,
        "rentroll-attempt": str(context.attempt),
        "rentroll-fencing-token": str(context.fencing_token),
        "accept-encoding": "identity",
    }


def checked(headers: Mapping[str, str]) -> dict[str, str]:
    """The tenant's own headers, in lower case. Raises PermanentFailure for one that it may not send."""
    sent = {}
    for name, value in headers.items():
        if OURS.fullmatch(name):
            raise PermanentFailure(f"headers: {name} is set by Rentroll.")
        if not HEADER_NAME.fullmatch(name):
            raise PermanentFailure(f"headers: {name!r} is not the name of a header.")
        if not HEADER_VALUE.fullmatch(value):
            raise PermanentFailure(f"headers: {name} must be printable ASCII text on one line.")
        sent[name.lower()] = value
    return sent


def checked_method(method: str) -> str:
    if method.upper() not in METHODS:
        raise PermanentFailure(f"method: {method!r} is not one of {', '.join(sorted(METHODS))}.")
    return method.upper()


def raise_unless_delivered(answer: Answer) -> None:
    """Raises RetryAfter, DeliveryFailed or PermanentFailure, by what the answer says about trying again."""
    if 200 <= answer.status < 300:
        return
    message = f"The answer was {answer.status}: {answer.body[:SAID]}"
    if answer.status in MAY_NAME_A_TIME and (delay := delay_of(answer.retry_after, clock.now())):
        raise RetryAfter(delay, message)
    if answer.status in TRY_AGAIN or answer.status >= 500:
        raise DeliveryFailed(message)
    raise PermanentFailure(message)


def delay_of(retry_after: str | None, now: datetime) -> timedelta | None:
    """From seconds or an HTTP date, between a second and the longest backoff; None if it is neither."""
    if not retry_after:
        return None
    if retry_after.isdecimal():
        seconds = int(retry_after[:10])
        return min(max(timedelta(seconds=seconds), SOONEST), retry.CAP)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment - now, SOONEST), retry.CAP)
