"""A remote worker in Python: claims tasks over HTTP, runs them, renews their leases and settles them.

    RENTROLL_URL=http://127.0.0.1:8000 RENTROLL_TOKEN=token-tenant-a python worker.py films

Needs httpx. Put your own functions into HANDLERS, by the names of the tasks. Ctrl-C or SIGTERM ends it once the
task in hand is settled, or the wait for one is over; the same once more ends it at once.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
from typing import Any

import httpx

LEASE_SECONDS = float(os.environ.get("LEASE_SECONDS", "30"))
WAIT_SECONDS = 20
REFUSED = (400, 401, 403, 404, 413)


class Permanent(Exception):
    """Another attempt cannot help: the task becomes a dead letter."""


def cut(task: dict[str, Any]) -> Any:
    """An example. What it returns is kept as the result; what it raises is a failed attempt."""
    if "reel" not in task["payload"]:
        raise Permanent("Which reel?")
    task["progress"] = {"done": 1, "total": 2, "note": "cutting"}  # shown while it runs
    if task["stop"].is_set():  # ask now and then: the task was cancelled, or somebody else has it
        raise InterruptedError
    return {"cut": task["payload"]["reel"], "fencing_token": task["generation"]}


HANDLERS = {"film.cut": cut}


class Worker:
    """One task at a time. Start more of them for more."""

    def __init__(self, url: str, token: str, queues: list[str]) -> None:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=WAIT_SECONDS + 10)
        self.asked: dict[str, Any] = {"queues": queues, "lease_seconds": LEASE_SECONDS}
        self.stopping = threading.Event()

    def run(self) -> None:
        """Until told to stop. While the server cannot be reached, it asks again every second."""
        while not self.stopping.is_set():
            tasks = []
            try:
                tasks = self.claim()
            except (httpx.HTTPError, ValueError) as error:  # none, or one that is not JSON
                print(f"No answer: {error}", file=sys.stderr)
            for task in tasks:
                self.work_on(task)
            if not tasks:
                self.stopping.wait(1)  # the server may not have let us wait

    def claim(self, wait: float = WAIT_SECONDS) -> list[dict[str, Any]]:
        claimed = self.post("/v1/leases", {**self.asked, "wait": wait})
        self.asked["worker"] = claimed["worker"]  # who we are from now on
        return list(claimed["tasks"])

    def work_on(self, task: dict[str, Any]) -> None:
        task["stop"], done = threading.Event(), threading.Event()
        heart = threading.Thread(target=self.keep, args=(task, done), daemon=True)
        heart.start()
        verdict = self.verdict_on(task)
        done.set()
        heart.join()
        self.settle(task, verdict)

    def verdict_on(self, task: dict[str, Any]) -> dict[str, Any]:
        try:
            if task["name"] not in HANDLERS:
                raise Permanent(f"No handler for {task['name']}.")
            result = HANDLERS[task["name"]](task)
        except (Exception, SystemExit) as error:  # whatever a handler raises is a failed attempt
            if task["stop"].is_set():
                return {"outcome": "released"}
            return failure(error, permanent=isinstance(error, Permanent))
        try:
            json.dumps(result, allow_nan=False)
        except Exception as error:  # its work is done, and cannot be told
            return failure(error, permanent=True)
        return {"outcome": "succeeded", "result": result}

    def keep(self, task: dict[str, Any], done: threading.Event) -> None:
        """Renew the lease every third of it, until the task is done or somebody else has it."""
        while not done.wait(LEASE_SECONDS / 3):
            # said once: what is refused stops no other renewal
            news = {"progress": task.pop("progress")} if "progress" in task else {}
            try:
                answer = self.lease("renew", task, news, lease_seconds=LEASE_SECONDS)
            except Exception as error:
                print(f"Not renewed: {error}", file=sys.stderr)
                continue  # two more tries before it is over
            if "problem" in answer or answer["cancel_requested"]:
                task["stop"].set()
            if "problem" in answer:
                print(f"Lost: {answer['problem']['detail']}", file=sys.stderr)
                return  # what we do from here on does not count; settling will be refused

    def settle(self, task: dict[str, Any], verdict: dict[str, Any]) -> dict[str, Any]:
        """Say it until it was heard: saying it twice does no harm."""
        answer = None
        while answer is None:
            try:
                answer = self.lease("settle", task, verdict)
            except (httpx.HTTPError, ValueError) as error:
                response = getattr(error, "response", None)
                if response is not None and response.status_code in REFUSED:
                    answer = {"problem": {"status": response.status_code, "detail": response.text}}
                else:
                    time.sleep(1)  # also when told to stop: what is done is not to be done again
        problem = answer.get("problem")
        if problem and problem["status"] in (400, 413) and verdict["outcome"] == "succeeded":
            refused = ValueError(f"The result was refused: {problem}")
            return self.settle(task, failure(refused, permanent=True))
        if problem:
            print(f"Refused: {problem['detail']}", file=sys.stderr)
        return dict(answer)

    def lease(self, verb: str, task: dict[str, Any], said: dict[str, Any], **more: Any) -> Any:
        """Renew or settle one lease; what became of it."""
        fence = {"task_id": task["id"], "generation": task["generation"]}
        body = {"worker": self.asked["worker"], "leases": [fence | said], **more}
        return self.post(f"/v1/leases/{verb}", body)["leases"][0]

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.http.post(path, content=json.dumps(body, allow_nan=False))
        answer.raise_for_status()
        return dict(answer.json())


def failure(error: BaseException, *, permanent: bool) -> dict[str, Any]:
    described = {"class": type(error).__name__[:200], "message": str(error)[:4096]}
    described["traceback"] = "".join(traceback.format_exception(error))[-32768:]
    return {"outcome": "failed", "error": described, "permanent": permanent}


if __name__ == "__main__":
    worker = Worker(os.environ["RENTROLL_URL"], os.environ["RENTROLL_TOKEN"], sys.argv[1:])

    def stop(signum: int, frame: object) -> None:
        worker.stopping.set()
        signal.signal(signum, signal.SIG_DFL)  # the second time it is over

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    worker.run()
