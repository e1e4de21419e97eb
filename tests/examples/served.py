"""A server as it is run, workers and all, for clients of every kind."""

import os
from dataclasses import dataclass
from typing import Any

import httpx

from tests.waiting import until


@dataclass
class Server:
    url: str
    api: httpx.Client

    @property
    def environment(self) -> dict[str, str]:
        """Of a worker, whose leases are the shortest there are."""
        own = {"RENTROLL_URL": self.url, "RENTROLL_TOKEN": "token-tenant-a", "LEASE_SECONDS": "1"}
        return {**os.environ, **own}

    def enqueue(self, **body: Any) -> str:
        answer = self.api.post("/v1/tasks", json={"queue": "films", "name": "film.cut", **body})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def ended(self, task_id: str) -> dict[str, Any]:
        """The task, once it is over."""

        def looked() -> dict[str, Any] | None:
            task = dict(self.api.get(f"/v1/tasks/{task_id}").json())
            return task if task["finished_at"] else None

        task = until(looked)
        assert task is not None
        return task

    def claim(self, generation: int) -> tuple[str, dict[str, Any]]:
        """Who has the zombies' task, once its lease was ended and it came to that generation."""
        claimed = self.api.post("/v1/leases", json={"queues": ["zombies"], "wait": 30}).json()
        (task,) = claimed["tasks"]
        assert task["generation"] == generation
        return claimed["worker"], {"task_id": task["id"], "generation": generation}

    def settle(self, worker: str, lease: dict[str, Any]) -> dict[str, Any]:
        said = {"worker": worker, "leases": [{**lease, "outcome": "succeeded", "result": "heir"}]}
        return dict(self.api.post("/v1/leases/settle", json=said).json()["leases"][0])
