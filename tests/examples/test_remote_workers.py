"""The remote workers of docs/examples, against a server as it is run: what they settle, and whom it refuses."""

import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
