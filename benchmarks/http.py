"""`POST /v1/tasks` under gunicorn on one core, beside a plain view that inserts a row, and one that does nothing.

The load comes from a process on another core, over eight kept connections. Then at half of that rate, for the
time an answer takes when nobody has to queue.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.figures import Report, Row, at_least, at_most, percentile
from benchmarks.peers import OURS
from benchmarks.plan import Plan, say
from benchmarks.stage import Database, Scene, Stage, free_port, wait_for_port

DATABASES = (Database.SQLITE, Database.POSTGRESQL)
RATE = "requests/s on a core"
HALF_LOAD = 0.5
BODY = json.dumps({"name": "demo.echo", "payload": {"message": "hello"}})
CREATED, NO_CONTENT = 201, 204
ON_ONE_CORE = {"WEB_CONCURRENCY": "1"}
PATIENT = {"WEB_WAIT_SECONDS": "30", "WEB_SECONDS_IN_LINE": "30"}
"""Nobody is turned away. The plain view's insert takes no turn at the write gate, and now and then waits for more than
the half second that a request is given otherwise."""

Found = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Target:
    """Something to ask for."""

    name: str
    path: str
    status: int

    def given(self, port: int, token: str) -> dict[str, str | int]:
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
        )
        return {"port": port, "request": head + BODY, "status": self.status}


TASKS = Target("ours", "/v1/tasks", CREATED)
INSERT = Target("plain_insert", "/bench/insert", CREATED)
NOTHING = Target("empty_view", "/bench/nothing", NO_CONTENT)


def run(plan: Plan) -> Report:
    found: Found = {}
    with Stage() as stage:
        for _ in plan.each_round():
            for figure, value in _measure(stage, plan).items():
                found.setdefault(figure, []).append(value)
    ours = found[TASKS.name]
    return Report(
        benchmark="http",
        database=plan.database,
        rows=[
            Row(
                figure=RATE,
                ours=ours,
                rival=INSERT.name,
                theirs=found[INSERT.name],
                must=at_least(0.6),
                aim=at_least(0.8),
            ),
            Row(figure=RATE, ours=ours, rival=NOTHING.name, theirs=found[NOTHING.name]),
            Row(figure="p99 at half load, ms", ours=found["p99"], must=at_most(10)),
            Row(figure="p50 at half load, ms", ours=found["p50"]),
        ],
    )


def _measure(stage: Stage, plan: Plan) -> Mapping[str, float]:
    seconds = plan.pick(full=10.0, quick=4.0, smoke=0.5)
    found = {}
    with stage.scene(plan.database, django_settings=OURS.django_settings) as scene:
        token = scene.play("benchmarks.acts.serving:prepare")
        port = free_port()
        scene = replace(scene, env={**scene.env, "PORT": str(port), **ON_ONE_CORE, **PATIENT})
        with scene.playing("benchmarks.acts.serving:work") as server:
            wait_for_port(port, server.check)
            for target in (TASKS, INSERT, NOTHING):
                found[target.name] = _rate(scene, target.given(port, token), seconds)
                say(f"{target.path}: {found[target.name]:,.0f}/s")
            waits = scene.play(
                "benchmarks.acts.load:at_rate",
                **TASKS.given(port, token),
                seconds=seconds,
                per_second=found[TASKS.name] * HALF_LOAD,
            )
    return found | {"p50": percentile(waits, 50), "p99": percentile(waits, 99)}


def _rate(scene: Scene, given: Mapping[str, str | int], seconds: float) -> float:
    return float(scene.play("benchmarks.acts.load:as_fast_as_it_goes", **given, seconds=seconds))
