"""A remote worker in Python: claims tasks over HTTP, runs them, renews their leases and settles them.

    RENTROLL_URL=http://127.0.0.1:8000 RENTROLL_TOKEN=token-tenant-a python worker.py films

Needs httpx. Put your own functions into HANDLERS, by the names of the tasks.
"""

import os
import signal
import sys
import threading
import traceback
from typing import Any

import httpx

LEASE_SECONDS = float(os.environ.get("LEASE_SECONDS", "30"))
WAIT_SECONDS = 20


class Permanent(Exception):
    """Another attempt cannot help: the task becomes a dead letter."""


def cut(task: dict[str, Any]) -> Any:
    """An example. What it returns is kept as the result; what it raises is a failed attempt."""
    if "reel" not in task["payload"]:
        raise Permanent("Which reel?")
    task["progress"] = {"done": 1, "total": 2, "note": "cutting"}  # shown while it runs
    return {"cut": task["payload"]["reel"], "fencing_token": task["generation"]}


HANDLERS = {"film.cut": cut}


class Worker:
    """One task at a time. Start more of them for more."""

    def __init__(self, url: str, token: str, queues: list[str]) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=WAIT_SECONDS + 10)
        self.asked: dict[str, Any] = {"queues": queues, "lease_seconds": LEASE_SECONDS}
        self.stopping = threading.Event()

    def run(self) -> None:
        """Until told to stop. While the server cannot be reached, it asks again every second."""
        while not self.stopping.is_set():
            try:
                tasks = self.claim()
            except httpx.HTTPError as error:
                print(f"No answer: {error}", file=sys.stderr)
                self.stopping.wait(1)
                continue
            for task in tasks:
                self.work_on(task)
            if not tasks:
                self.stopping.wait(1)  # the server may not have let us wait

    def claim(self, wait: float = WAIT_SECONDS) -> list[dict[str, Any]]:
        claimed = self.post("/v1/leases", {**self.asked, "wait": wait})
        self.asked["worker"] = claimed["worker"]  # who we are from now on
        return list(claimed["tasks"])

    def work_on(self, task: dict[str, Any]) -> None:
        done = threading.Event()
        heart = threading.Thread(target=self.keep, args=(task, done), daemon=True)
        heart.start()
        try:
            verdict = self.verdict_on(task)
        finally:
            done.set()
            heart.join()
        self.settle(task, verdict)

    def verdict_on(self, task: dict[str, Any]) -> dict[str, Any]:
        try:
            handler = HANDLERS.get(task["name"])
            if handler is None:
                raise Permanent(f"No handler for {task['name']}.")
            return {"outcome": "succeeded", "result": handler(task)}
        except Exception as error:  # whatever a handler raises is a failed attempt
            described = {
                "class": type(error).__name__,
                "message": str(error)[:4096],
                "traceback": traceback.format_exc()[-32768:],
            }
            permanent = isinstance(error, Permanent)
            return {"outcome": "failed", "error": described, "permanent": permanent}

    def keep(self, task: dict[str, Any], done: threading.Event) -> None:
        """Renew the lease every third of it, until the task is done or somebody else has it."""
        while not done.wait(LEASE_SECONDS / 3):
            try:
                news = {"progress": task["progress"]} if "progress" in task else {}
                answer = self.lease("renew", task, news, lease_seconds=LEASE_SECONDS)
            except httpx.HTTPError:
                continue  # two more tries before it is over
            if "problem" in answer:
                print(f"Lost: {answer['problem']['detail']}", file=sys.stderr)
                return  # what we do from here on does not count; settling will be refused

    def settle(self, task: dict[str, Any], verdict: dict[str, Any]) -> dict[str, Any]:
        """Say it until it was heard: saying it twice does no harm."""
        while True:
            try:
                answer = self.lease("settle", task, verdict)
            except httpx.HTTPError as error:
                if isinstance(error, httpx.HTTPStatusError) and error.response.is_client_error:
                    raise
                self.stopping.wait(1)
                continue
            if "problem" in answer:
                print(f"Refused: {answer['problem']['detail']}", file=sys.stderr)
            return answer

    def lease(
        self, verb: str, task: dict[str, Any], said: dict[str, Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        """Renew or settle one lease; what became of it."""
        fence = {"task_id": task["id"], "generation": task["generation"]}
        body = {"worker": self.asked["worker"], "leases": [fence | (said or {})], **more}
        return dict(self.post(f"/v1/leases/{verb}", body)["leases"][0])

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.http.post(path, json=body)
        answer.raise_for_status()
        return dict(answer.json())


if __name__ == "__main__":
    worker = Worker(os.environ["RENTROLL_URL"], os.environ["RENTROLL_TOKEN"], sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: worker.stopping.set())
    worker.run()
