"""Everything is killed at once, as by a loss of power: what was accepted over HTTP runs after a restart."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest

from tests.installation import Installation, first_match
from tests.waiting import until

pytestmark = pytest.mark.timeout(180)  # two installations' worth of processes

TOKEN = {"Authorization": "Bearer token-tenant-a"}
CALLERS = 4
ENOUGH = 200


@contextmanager
def serving(installation: Installation) -> Iterator[httpx.Client]:
    """`serve` in a process group of its own; at the end all of it is killed, and nobody is asked."""
    with installation.start("serve", start_new_session=True) as server:
        try:
            url = first_match(r"Listening at: (http://\S+)", server)
            with httpx.Client(base_url=url, headers=TOKEN, timeout=30) as client:
                yield client
        finally:
            os.killpg(server.pid, signal.SIGKILL)


def test_nothing_accepted_is_lost_when_everything_is_killed(installation: Installation) -> None:
    installation.environment["PORT"] = "0"
    accepted: list[str] = []
    with ThreadPoolExecutor(CALLERS) as callers:
        with serving(installation) as api:
            sleeper = enqueue(api, "demo.sleep", seconds=600)
            until(lambda: task(api, sleeper)["state"] == "running")
            calls = [
                callers.submit(enqueue_for_ever, api.base_url, accepted) for _ in range(CALLERS)
            ]
            until(lambda: len(accepted) >= ENOUGH)
        for call in calls:
            call.result()

    with serving(installation) as api:
        for task_id in accepted:
            until(lambda: task(api, task_id)["state"] == "succeeded", what=f"for {task_id}")  # noqa: B023  # looked at in this round only
        until(lambda: task(api, sleeper)["state"] == "running")
        again = task(api, sleeper)
        assert [attempt["outcome"] for attempt in again["attempts"]] == ["lost"]
        assert again["generation"] == 2

    checking = installation.start("checkledger")
    assert "keeps its invariants" in checking.communicate()[0]


def enqueue_for_ever(url: httpx.URL, accepted: list[str]) -> None:
    """Until nobody answers any more."""
    with (
        httpx.Client(base_url=url, headers=TOKEN, timeout=30) as api,
        suppress(httpx.TransportError),
    ):
        while True:
            accepted.append(enqueue(api, "demo.echo"))


def enqueue(api: httpx.Client, name: str, **payload: Any) -> str:
    answer = api.post("/v1/tasks", json={"name": name, "payload": payload})
    return str(answer.raise_for_status().json()["id"])


def task(api: httpx.Client, task_id: str) -> dict[str, Any]:
    answer: dict[str, Any] = api.get(f"/v1/tasks/{task_id}").raise_for_status().json()
    return answer
