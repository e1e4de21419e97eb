"""Where the documented answers are brought about: an installation, its callers, and what can go wrong with it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db import connection
from django.test import Client
from pytest_django import Settings

from scheduling import clock, ledger
from scheduling.api.v1.openapi import document
from scheduling.ledger import capacity
from scheduling.ledger.values import Claim, Fail, Failure
from tenants.models import ApiToken, Scope, Tenant
from tests.api.kit import JSON, Response
from tests.api.test_idempotency import become_impatient
from tests.ledger import kit
from tests.races.kit import Session

TOKENS = "tenants_apitoken"
PLACES: dict[str, tuple[str, str]] = {
    operation["operationId"]: (method.upper(), path)
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
}


@dataclass(frozen=True)
class Call:
    """A request to one operation."""

    operation: str
    ids: Mapping[str, Any] = field(default_factory=dict)
    """By their names in the path."""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    """None: nothing is sent. Bytes go as they are, anything else as JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)

    def but(self, **changes: Any) -> "Call":
        return replace(self, **changes)

    def saying(self, headers: Mapping[str, str]) -> "Call":
        return replace(self, headers={**self.headers, **headers})

    @property
    def parameters(self) -> dict[str, Any]:
        """Those of the document that it gives a value."""
        return {**self.ids, **self.query, **self.headers}


@dataclass(frozen=True)
class Exchange:
    call: Call
    answer: Response


@dataclass
class Stage:
    """One installation with two tenants and a remote queue; callers speak for tenant A."""

    settings: Settings
    tenant_a: Tenant
    tenant_b: Tenant
    secrets: dict[tuple[str, ...], str] = field(default_factory=dict)

    def send(self, call: Call, *, scopes: Any = Scope.values, token: bool = True) -> Exchange:
        method, path = PLACES[call.operation]
        headers = dict(call.headers)
        if token:
            headers["Authorization"] = f"Bearer {self.secret(tuple(scopes))}"
        body = call.body if isinstance(call.body, bytes) else json.dumps(call.body)
        answer = Client(raise_request_exception=False).generic(
            method,
            path.format(**call.ids) + (f"?{urlencode(call.query)}" if call.query else ""),
            b"" if call.body is None else body,
            content_type=headers.pop("Content-Type", JSON),
            headers=headers,
        )
        return Exchange(call, answer)

    def secret(self, scopes: tuple[str, ...] = tuple(Scope.values)) -> str:
        if scopes not in self.secrets:
            self.secrets[scopes] = ApiToken.objects.issue(tenant=self.tenant_a, scopes=scopes)[1]
        return self.secrets[scopes]

    # Tasks in every state

    def waiting(self, **options: Any) -> UUID:
        now = clock.now()
        [task_id] = kit.put(self.tenant_a, now=now, kwargs={"message": "hello"}, **options)
        return task_id

    def running(self, **options: Any) -> Claim:
        self.waiting(**options)
        queues = [options.get("queue", "default")]
        [claim] = ledger.claim(UUID(int=7), limit=1, queues=queues).claims
        return claim

    def succeeded(self) -> UUID:
        return kit.run([self.running()], now=clock.now())[0]

    def dead(self) -> UUID:
        claim = self.running()
        kit.say(claim, Fail(Failure("ValueError", "no such address"), None), now=clock.now())
        return claim.task_id

    # What can go wrong

    def fill_tenant(self) -> None:
        """It has as many tasks as it may."""
        self.waiting()
        Tenant.objects.filter(pk=self.tenant_a.pk).update(max_queued=1)

    @contextmanager
    def full_ledger(self) -> Iterator[None]:
        """It holds as many tasks as it may, whosever they are."""
        self.waiting()
        self.settings.RENTROLL = self.settings.RENTROLL | {"LEDGER_MAX_QUEUED": 1}
        capacity.look_again()
        try:
            yield
        finally:
            capacity.look_again()

    @contextmanager
    def another_holding_the_key(self) -> Iterator[None]:
        """The first request with the key is not over yet; nobody waits for it for longer than a moment."""
        task = kit.new(self.tenant_a, idempotency_key="order-4711")
        self.send(Call("limits"))  # so that the use of the token is noted by then
        with Session() as first, first.transaction():
            first.do(lambda: ledger.enqueue([task]))
            become_impatient()
            try:
                yield
            finally:
                connection.close()

    @contextmanager
    def database_raises(self, error: Exception, *, but_on: str = TOKENS) -> Iterator[None]:
        """Whatever is asked of it, but who is calling."""

        def fail(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
            if but_on and but_on in sql:
                return execute(sql, *rest)
            raise error

        with connection.execute_wrapper(fail):
            yield


# What is the same whenever it is recorded

MADE_UP = "019b8f0a-6c00-7000-8000-{:012}"
"""The ids of examples, in the order in which they are met."""
BEGINNING = datetime.fromisoformat("2027-01-04T12:00:00+00:00")
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
TOKEN = re.compile(r"\(token [0-9a-f]{12}\)")
TAG = re.compile(r"\b(\d+)-[0-9a-f]{16}\b")
STEP = 10.0
"""Seconds between instants that are told apart; tests are not so slow."""
EARLY = 1.0
"""Seconds by which an instant may be before its step: what was asked for is reckoned from before it was asked."""
NEAR = timedelta(days=2)
"""Instants within that of now belong to this run. Others were asked for, and are the same in each."""


def told(exchange: Exchange) -> dict[str, Any]:
    """What an example shows of it."""
    sent = {} if exchange.call.body is None else {"request": exchange.call.body}
    said = {"answer": exchange.answer.json()} if exchange.answer.content else {}
    return steadied(
        {
            "status": str(exchange.answer.status_code),
            "parameters": {name: str(value) for name, value in exchange.call.parameters.items()},
            **sent,
            **said,
        }
    )


def steadied(value: dict[str, Any]) -> dict[str, Any]:
    """The same with made-up ids and instants in place of those of this run."""
    text = json.dumps(value)
    ids: dict[str, str] = {}
    for found in ID.findall(text):
        ids.setdefault(found, MADE_UP.format(len(ids) + 1))
    text = ID.sub(lambda found: ids[found[0]], text)
    instants = {found: datetime.fromisoformat(found) for found in INSTANT.findall(text)}
    now = clock.now()
    of_now = {found: at for found, at in instants.items() if abs(at - now) < NEAR}
    first = min(of_now.values(), default=now)
    text = INSTANT.sub(
        lambda found: shifted(of_now[found[0]] - first) if found[0] in of_now else found[0], text
    )
    text = TAG.sub(r"\1-5f0c9a1b2c3d4e5f", TOKEN.sub("(token 3f0c9a1b2c3d)", text))
    steady: dict[str, Any] = json.loads(text)
    return steady


def shifted(apart: timedelta) -> str:
    """An instant so much later than the first."""
    steps = (apart.total_seconds() + EARLY) // STEP
    return f"{BEGINNING + timedelta(seconds=steps * STEP):%FT%TZ}"
