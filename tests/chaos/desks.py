"""Two ways in: the API by HTTP, and the task framework in Python."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import httpx
from django.db import Error, connections

from scheduling import clock, ledger
from scheduling.errors import LimitExceeded, Overloaded
from tests.chaos import tasks
from tests.chaos.load import Desk, Wanted, timed
from tests.chaos.records import Answer

PATIENCE = 40.0
"""Seconds for an answer: longer than a writer of ours waits for its turn."""
TASKS = {"chaos.work": tasks.work, "chaos.stroll": tasks.stroll, "chaos.bill": tasks.bill}


class Api(Desk):
    """As a client anywhere."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=PATIENCE)

    def enqueue(self, what: str, wanted: Wanted) -> Answer:
        body: dict[str, Any] = {
            "name": wanted.name,
            "payload": wanted.payload,
            "queue": wanted.queue,
            "priority": wanted.priority,
            "max_attempts": wanted.max_attempts,
        }
        if wanted.delay:
            body["delay_seconds"] = wanted.delay.total_seconds()
        headers = {"Idempotency-Key": wanted.key} if wanted.key else {}
        return self._send(what, wanted, "/v1/tasks", body, headers)

    def cancel(self, wanted: Wanted, task: str) -> Answer:
        return self._send("cancel", wanted, f"/v1/tasks/{task}/cancel")

    def redrive(self, wanted: Wanted, task: str) -> Answer:
        return self._send("redrive", wanted, f"/v1/tasks/{task}/redrive")

    def discard(self, wanted: Wanted, task: str) -> Answer:
        """There is no such address; a look instead."""
        return self._send("look", wanted, f"/v1/tasks/{task}", method="GET")

    def switch(self, secret: str, body: dict[str, Any]) -> Answer:
        """The kill switch."""
        what = "pause" if body["paused"] else "resume"
        return timed(
            what, lambda: self._ask("PUT", "/v1/execution-control", bearer(secret), json=body)
        )

    def close(self) -> None:
        self._client.close()

    def _send(
        self,
        what: str,
        wanted: Wanted,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        method: str = "POST",
    ) -> Answer:
        headers = bearer(wanted.tenant.secret) | (headers or {})
        return timed(what, lambda: self._ask(method, path, headers, json=body), key=wanted.key)

    def _ask(
        self, method: str, path: str, headers: dict[str, str], **content: Any
    ) -> tuple[int, str, str]:
        try:
            answer = self._client.request(method, path, headers=headers, **content)
        except httpx.TransportError as error:
            return 0, "", type(error).__name__
        return answer.status_code, *told(answer)


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def told(answer: httpx.Response) -> tuple[str, str]:
    """The task that an answer tells of, and the state or the kind of problem."""
    try:
        body = answer.json()
    except ValueError:
        return "", f"no JSON: {answer.text[:200]!r}"
    if answer.is_success:
        return body.get("id", ""), body.get("state", "")
    wanting = "" if answer.status_code not in (429, 503) or "Retry-After" in answer.headers else " "
    return "", body.get("type", "").removeprefix("/problems/") + wanting


class Python(Desk):
    """As code of the project itself. The same words are used for how it went."""

    def enqueue(self, what: str, wanted: Wanted) -> Answer:
        task = TASKS[wanted.name].using(
            tenant=wanted.tenant.slug,
            queue_name=wanted.queue,
            priority=wanted.priority,
            run_after=clock.now() + wanted.delay if wanted.delay and not wanted.key else None,
            max_attempts=wanted.max_attempts,
            idempotency_key=wanted.key or None,
        )
        return self._ask(what, wanted, lambda: (201, task.enqueue(**wanted.payload).id, ""))

    def cancel(self, wanted: Wanted, task: str) -> Answer:
        def ask() -> tuple[int, str, str]:
            [done] = ledger.cancel([UUID(task)])
            return (200 if done.requested else 409), task, str(done.state)

        return self._ask("cancel", wanted, ask, task)

    def redrive(self, wanted: Wanted, task: str) -> Answer:
        return self._count("redrive", wanted, ledger.redrive, task)

    def discard(self, wanted: Wanted, task: str) -> Answer:
        return self._count("discard", wanted, ledger.discard, task)

    def close(self) -> None:
        connections.close_all()

    def _count(
        self, what: str, wanted: Wanted, verb: Callable[[list[UUID]], int], task: str
    ) -> Answer:
        """A verb that says how many it found to do something about."""
        return self._ask(what, wanted, lambda: (200 if verb([UUID(task)]) else 409, task, ""), task)

    def _ask(
        self, what: str, wanted: Wanted, ask: Callable[[], tuple[int, str, str]], task: str = ""
    ) -> Answer:
        def asked() -> tuple[int, str, str]:
            try:
                return ask()
            except LimitExceeded as error:
                return 429, task, error.limit
            except (Error, Overloaded) as error:
                connections.close_all()
                return 503, task, type(error).__name__

        return timed(what, asked, key=wanted.key)
