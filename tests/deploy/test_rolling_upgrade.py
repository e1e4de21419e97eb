"""An upgrade without downtime, and the way back: process by process, as docs/deployment.md says, under load."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import httpx
import pytest

from scheduling import __version__
from tests.deploy.balancer import TOKEN, Balancer, Load
from tests.deploy.releases import (
    NEWER_VERSION,
    Program,
    Release,
    WebServer,
    Workers,
    newer_release,
    older_release,
)
from tests.installation import PATIENT, Installation
from tests.waiting import until

pytestmark = pytest.mark.timeout(240)  # a dozen programs start, one after the other

P = TypeVar("P", Workers, WebServer)
CLIENTS = 2
# Nobody is late on a slow machine; a server leaves when the test says so.
ENVIRONMENT = {
    "PORT": "0",
    "WEB_CONCURRENCY": "1",
    "WEB_SECONDS_TO_LEAVE": "600",
    **PATIENT,
}
ENQUEUE = """
from scheduling.builtin.demo import newer
print(newer.using(tenant="tenant-a").enqueue().id)
"""


class Site:
    """Two web servers behind a balancer, and two pools of workers, as on two hosts."""

    def __init__(self, folder: Path) -> None:
        self.balancer = Balancer()
        self._folder = folder
        self._started: list[Program] = []
        self._web: list[WebServer] = []
        self._workers: list[Workers] = []

    def start(self, release: Release) -> None:
        self._workers = [self._start(Workers, release) for _ in range(2)]
        self._web = [self._start(WebServer, release) for _ in range(2)]
        for which in range(2):
            self._await_workers(which)
            self._await_web(which)

    def replace_workers(self, which: int, release: Release) -> None:
        self._workers[which].terminate()
        self._workers[which].wait()
        self._workers[which] = self._start(Workers, release)
        self._await_workers(which)

    def replace_web(self, which: int, release: Release) -> None:
        leaving = self._web[which]
        url = leaving.url
        leaving.terminate()
        self.balancer.let_go(url)
        leaving.leave_now()
        leaving.wait()
        self._web[which] = self._start(WebServer, release)
        self._await_web(which)

    def get(self, path: str) -> Any:
        answer = httpx.get(f"{self._web[0].url}{path}", headers=TOKEN, timeout=60)
        return answer.raise_for_status().json()

    def post(self, path: str, body: dict[str, Any]) -> Any:
        answer = httpx.post(f"{self._web[0].url}{path}", headers=TOKEN, json=body, timeout=60)
        return answer.raise_for_status().json()

    def all_tasks(self) -> Iterator[Any]:
        """As lists show them."""
        page = self.get("/v1/tasks?limit=100")
        yield from page["tasks"]
        while page["next"]:
            page = self.get(page["next"])
            yield from page["tasks"]

    def _start(self, kind: type[P], release: Release) -> P:
        program = kind(release, self._folder / f"{len(self._started)}-{kind.__name__}.log")
        self._started.append(program)
        return program

    def _await_workers(self, which: int) -> None:
        until(self._workers[which].has_started, seconds=60, what="for workers to start")

    def _await_web(self, which: int) -> None:
        server = self._web[which]
        until(lambda: server.url, seconds=60, what="for a web server to listen")
        self.balancer.add(server.url)

    def end(self) -> None:
        for program in self._started:
            program.kill_all()
            print(f"---- {program.log.name}\n{program.said()}")  # noqa: T201  # pytest shows it on failure


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    over = Event()
    with ThreadPoolExecutor(1) as watcher:
        watching = watcher.submit(site.balancer.watch, over)
        try:
            yield site
        finally:
            over.set()
            watching.result()
            site.end()


@contextmanager
def under_load(balancer: Balancer) -> Iterator[Load]:
    load, over = Load(balancer), Event()
    with ThreadPoolExecutor(CLIENTS) as clients:
        running = [clients.submit(load.run, str(number), over) for number in range(CLIENTS)]
        try:
            yield load
        finally:
            over.set()
        for one in running:
            one.result()


def test_release_is_rolled_out_and_back_under_load_and_nothing_is_refused_lost_or_charged(
    installation: Installation, site: Site, tmp_path: Path
) -> None:
    installation.environment |= ENVIRONMENT
    older = older_release(installation)
    newer = newer_release(tmp_path / "newer", installation)
    older.run("bootstrap")
    site.start(older)
    with under_load(site.balancer) as load:
        load.until_run_by("older")

        newer.run("bootstrap")
        early = newer.run("shell", "-v0", "-c", ENQUEUE).split()[-1]
        until(lambda: site.get(f"/v1/tasks/{early}")["state"] == "dead", seconds=60)
        site.replace_workers(0, newer)
        load.until_run_by("older", "newer")
        site.replace_workers(1, newer)
        for which in range(2):
            site.replace_web(which, newer)
            load.goes_on()
        assert version(site) == NEWER_VERSION
        late = site.post("/v1/tasks", {"name": "demo.newer"})["id"]
        site.post(f"/v1/tasks/{early}/redrive", {})
        for task in (early, late):
            until(lambda: site.get(f"/v1/tasks/{task}")["state"] == "succeeded", seconds=60)  # noqa: B023  # looked at in this round only
        assert not is_disabled(site)

        older.run("bootstrap")
        for which in range(2):
            site.replace_web(which, older)
            load.goes_on()
        for which in range(2):
            site.replace_workers(which, older)
        load.until_run_by("older")
        assert is_disabled(site)
        assert version(site) == __version__

    assert load.complaints == []
    until(lambda: {task["state"] for task in site.all_tasks()} == {"succeeded"}, seconds=60)
    tasks = list(site.all_tasks())
    assert {task["attempt"] for task in tasks} == {1}
    assert sorted(task["id"] for task in tasks) == sorted([early, late, *load.accepted])
    assert "keeps its invariants" in older.run("checkledger")


def version(site: Site) -> Any:
    return site.get("/v1/openapi.json")["info"]["version"]


def is_disabled(site: Site) -> bool:
    """Of what only the newer release declares to recur."""
    (row,) = site.get("/v1/recurring-tasks")["recurring_tasks"]
    return bool(row["disabled_reason"])
