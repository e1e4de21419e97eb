"""The remote workers of docs/examples, against a server as it is run: what they settle, and whom it refuses."""

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.installation import Installation, empty_postgres, first_match
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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server_url = os.environ.get("DATABASE_URL")
    installation = Installation(
        tmp_path_factory.mktemp("remote") / "data",
        database_url=empty_postgres(server_url) if server_url else None,
        environment={"PORT": "0", "WEB_CONCURRENCY": "1", "REMOTE_QUEUES": "films,zombies"},
    )
    with installation.start("serve") as process:
        try:
            url = first_match(r"Listening at: (http://\S+)", process)
            headers = {"Authorization": "Bearer token-tenant-a"}
            with httpx.Client(base_url=url, headers=headers, timeout=40) as api:
                yield Server(url, api)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


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
