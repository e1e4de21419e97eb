"""The remote workers of docs/examples, against a server as it is run: what they settle, and whom it refuses."""

import json
import runpy
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from tests.examples.served import Server
from tests.waiting import until

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
PYTHON = [sys.executable, str(EXAMPLES / "worker.py")]
NODE = shutil.which("node")
REPORTER = f"""
import {{ Worker, handlers }} from "{(EXAMPLES / "worker.mjs").as_uri()}";
const {{ RENTROLL_URL, RENTROLL_TOKEN }} = process.env;
const worker = new Worker(RENTROLL_URL, RENTROLL_TOKEN, ["films"]);
handlers["film.watch"] = async (task) => {{
  task.progress = {{ done: 1, total: 4, note: "reels" }};
  for (;;) {{
    const shown = await fetch(`${{RENTROLL_URL}}/v1/tasks/${{task.id}}`, {{ headers: worker.headers }});
    const {{ progress }} = await shown.json();
    if (progress) return progress;
  }}
}};
for (const task of await worker.claim()) await worker.workOn(task);
"""
"""Its handler ends once it has seen its own progress."""
ZOMBIE = f"""
import {{ Worker }} from "{(EXAMPLES / "worker.mjs").as_uri()}";
const {{ RENTROLL_URL, RENTROLL_TOKEN }} = process.env;
const worker = new Worker(RENTROLL_URL, RENTROLL_TOKEN, ["zombies"]);
const [task] = await worker.claim();
console.log(JSON.stringify(task));
for await (const _ of process.stdin) break;
console.log(JSON.stringify(await worker.settle(task, {{ outcome: "succeeded" }})));
process.exit();
"""
FAULTY = f"""
import {{ Worker, handlers }} from "{(EXAMPLES / "worker.mjs").as_uri()}";
const {{ RENTROLL_URL, RENTROLL_TOKEN }} = process.env;
const worker = new Worker(RENTROLL_URL, RENTROLL_TOKEN, ["films"]);
const nested = (levels) => (levels ? [nested(levels - 1)] : []);
Object.assign(handlers, {{
  "faulty.unsendable": () => 7n,
  "faulty.NUL": () => "\\0",
  "faulty.large": () => "x".repeat(2 ** 20 + 1),
  "faulty.deep": () => nested(70),
  "faulty.surrogate": () => {{ throw new Error("\\ud800"); }},
  "faulty.progress": async (task) => {{
    task.progress = {{ fraction: 7n }};
    while (task.progress) await new Promise(setImmediate);
    return "came through";
  }},
  "faulty.cancelled": async (task) => {{
    const headers = worker.headers;
    await fetch(`${{RENTROLL_URL}}/v1/tasks/${{task.id}}/cancel`, {{ method: "POST", headers }});
    while (!task.stop.aborted) await new Promise(setImmediate);
    task.stop.throwIfAborted();
  }},
}});
worker.run();
"""
SEEN = {"fraction": 0.25, "done": 1, "total": 4, "note": "reels"}


@contextmanager
def running(command: list[str], server: Server) -> Iterator[None]:
    with subprocess.Popen([*command, "films"], env=server.environment) as worker:
        try:
            yield
        finally:
            worker.kill()


def node() -> str:
    if NODE is None:
        pytest.skip("node is not on PATH, so the worker in JavaScript cannot be run")
    return NODE


@pytest.mark.parametrize("language", ["python", "node"])
def test_what_its_handlers_return_and_raise_is_settled(server: Server, language: str) -> None:
    command = PYTHON if language == "python" else [node(), str(EXAMPLES / "worker.mjs")]
    with running(command, server):
        good = server.ended(server.enqueue(payload={"reel": 7}))
        bad = server.ended(server.enqueue(payload={}))
        unknown = server.ended(server.enqueue(name="film.burn"))
    assert good["state"] == "succeeded"
    assert good["result"] == {"cut": 7, "fencing_token": 1}
    assert (bad["dead_reason"], bad["error"]["message"]) == ("permanent_failure", "Which reel?")
    assert unknown["error"] == {"class": "Permanent", "message": "No handler for film.burn."}


@pytest.mark.parametrize("language", ["python", "node"])
def test_no_handler_takes_its_worker_along(
    server: Server, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker, and handlers that return and say what cannot be said, one after the other."""
    with faulty(server, monkeypatch) if language == "python" else faulty_in_node(server):
        for name in ("unsendable", "NUL", "large", "deep"):
            task = server.ended(server.enqueue(name=f"faulty.{name}"))
            assert (task["dead_reason"], task["attempts"][0]["outcome"]) == (
                "permanent_failure",
                "failed",
            ), name
        task = server.ended(server.enqueue(name="faulty.surrogate", max_attempts=1))
        assert task["error"]["message"] == r"\ud800"
        assert server.ended(server.enqueue(name="faulty.progress"))["result"] == "came through"
        assert server.ended(server.enqueue(name="faulty.cancelled"))["state"] == "cancelled"


@contextmanager
def faulty_in_node(server: Server) -> Iterator[None]:
    program = [node(), "--input-type=module", "--eval", FAULTY]
    with subprocess.Popen(program, env=server.environment) as worker:
        try:
            yield
        finally:
            worker.kill()


@contextmanager
def faulty(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LEASE_SECONDS", "1")
    example = runpy.run_path(str(EXAMPLES / "worker.py"))
    worker = example["Worker"](server.url, "token-tenant-a", ["films"])
    monkeypatch.setattr(worker, "claim", partial(worker.claim, wait=1))  # it is to end soon

    def surrogate(task: dict[str, Any]) -> Any:
        raise ValueError("\ud800")

    def progress(task: dict[str, Any]) -> Any:
        task["progress"] = {"fraction": float("nan")}
        until(lambda: "progress" not in task)
        return "came through"

    def cancelled(task: dict[str, Any]) -> Any:
        server.api.post(f"/v1/tasks/{task['id']}/cancel")
        assert task["stop"].wait(20)
        raise InterruptedError

    handlers: dict[str, Callable[[dict[str, Any]], Any]] = {
        "faulty.unsendable": lambda _: datetime.now(UTC),
        "faulty.NUL": lambda _: "\0",
        "faulty.large": lambda _: "x" * (2**20 + 1),
        "faulty.deep": lambda _: nested(70),
        "faulty.surrogate": surrogate,
        "faulty.progress": progress,
        "faulty.cancelled": cancelled,
    }
    example["HANDLERS"].update(handlers)
    running = Thread(target=worker.run)
    running.start()
    try:
        yield
    finally:
        worker.stopping.set()
        running.join()
        worker.http.close()


def nested(levels: int) -> list[Any]:
    return [nested(levels - 1)] if levels else []


def test_one_that_is_told_to_stop_does_not_hurry_an_absent_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It pauses between tries all the same, and what was done is said once the server is back."""
    example = runpy.run_path(str(EXAMPLES / "worker.py"))
    worker = example["Worker"]("http://absent.invalid", "token", ["films"])
    worker.asked["worker"] = "one"
    worker.stopping.set()
    pauses: list[float] = []
    answers = [httpx.ConnectError("away"), httpx.ConnectError("away"), {"leases": [{}]}]

    def post(path: str, body: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(worker, "post", post)
    monkeypatch.setattr(time, "sleep", pauses.append)
    worker.settle({"id": "task", "generation": 1}, {"outcome": "released"})
    assert pauses == [1, 1]
    worker.http.close()


def test_progress_in_python_is_seen(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASE_SECONDS", "1")
    example = runpy.run_path(str(EXAMPLES / "worker.py"))
    worker = example["Worker"](server.url, "token-tenant-a", ["films"])

    def watch(task: dict[str, Any]) -> Any:
        task["progress"] = {"done": 1, "total": 4, "note": "reels"}
        return until(lambda: server.api.get(f"/v1/tasks/{task['id']}").json()["progress"])

    example["HANDLERS"]["film.watch"] = watch
    task_id = server.enqueue(name="film.watch")
    for task in worker.claim():
        worker.work_on(task)
    worker.http.close()
    assert server.ended(task_id)["result"] == SEEN


def test_progress_in_javascript_is_seen(server: Server) -> None:
    task_id = server.enqueue(name="film.watch")
    program = [node(), "--input-type=module", "--eval", REPORTER]
    subprocess.run(program, env=server.environment, check=True, timeout=40)
    assert server.ended(task_id)["result"] == SEEN


def test_a_zombie_in_python_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASE_SECONDS", "1")
    example = runpy.run_path(str(EXAMPLES / "worker.py"))
    zombie = example["Worker"](server.url, "token-tenant-a", ["zombies"])
    task_id = server.enqueue(queue="zombies")
    (task,) = zombie.claim()

    heir, lease = server.claim(generation=2)  # for all that is known, the zombie is dead
    answer = zombie.settle(task, {"outcome": "succeeded", "result": "zombie"})

    zombie.http.close()
    assert answer["problem"]["type"] == "/problems/stale-lease"
    assert answer["problem"]["current_generation"] == 2
    assert server.settle(heir, lease)["state"] == "succeeded"
    assert server.ended(task_id)["result"] == "heir"


def test_a_zombie_in_javascript_is_refused(server: Server) -> None:
    program = [node(), "--input-type=module", "--eval", ZOMBIE]
    task_id = server.enqueue(queue="zombies")
    with subprocess.Popen(
        program,
        env=server.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as zombie:
        assert zombie.stdout
        assert json.loads(zombie.stdout.readline())["generation"] == 1
        heir, lease = server.claim(generation=2)
        said, _ = zombie.communicate("go on\n", timeout=40)
    assert json.loads(said)["problem"]["type"] == "/problems/stale-lease"
    assert server.settle(heir, lease)["state"] == "succeeded"
    assert server.ended(task_id)["result"] == "heir"
