"""Scenario 15: while a new version is rolled out, workers of the old one claim what only the new one can run."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from scheduling import ledger
from scheduling.ledger.values import NewTask
from scheduling.states import TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, Workers, enqueue, outcomes, wait_for_state
from tests.waiting import until

SLOW_LEASE = "--lease-seconds=300"
HEAD = """\
from scheduling.compat import task
from tests.app.effects import append
"""
OLD = f"""{HEAD}
@task(name="rolling.greet")
def greet(name: str) -> None:
    append(f"old greets {{name}}")

@task(name="rolling.retired")
def retired() -> None:
    append("old retires")
"""
NEW = f"""{HEAD}
@task(name="rolling.greet")
def greet(name: str, language: str = "en") -> None:
    append(f"new greets {{name}} in {{language}}")

@task(name="rolling.added")
def added() -> None:
    append("new adds")
"""
BROKEN = f"{HEAD}import a_module_that_nobody_wrote"
SETTINGS = """\
from tests.settings import *
INSTALLED_APPS = [*INSTALLED_APPS, "rolling"]
"""


class Rollout:
    """Starts workers of one version or another, each from a folder of its own."""

    def __init__(self, start_workers: Start, folder: Path) -> None:
        self._start_workers = start_workers
        self._folder = folder

    def start(self, version: str, source: str) -> Workers:
        folder = self._folder / version
        (folder / "rolling").mkdir(parents=True)
        (folder / "rolling" / "__init__.py").touch()
        (folder / "rolling" / "tasks.py").write_text(source)
        (folder / "rolling_settings.py").write_text(SETTINGS)
        return self._start_workers(
            *("--processes=1", "--threads=1", SLOW_LEASE),
            settings="rolling_settings",
            environment={"PYTHONPATH": str(folder)},
        )


@pytest.fixture
def rollout(start_workers: Start, tmp_path: Path) -> Rollout:
    return Rollout(start_workers, tmp_path)


def put(tenant: Tenant, called: str, **kwargs: str) -> UUID:
    task = NewTask(
        tenant_id=tenant.pk, name=called, kwargs_json=json.dumps(kwargs), max_attempts=20
    )
    return ledger.enqueue([task])[0].task_id


@pytest.mark.parametrize("older", [OLD, BROKEN, ""], ids=["old", "broken", "without"])
def test_what_workers_do_not_know_yet_is_run_by_those_that_do(
    older: str, rollout: Rollout, effects: Effects, tenant_a: Tenant
) -> None:
    rollout.start("old", older)
    added = put(tenant_a, "rolling.added")
    changed = put(tenant_a, "rolling.greet", name="Ada", language="fr")
    flows = enqueue(tasks.effect, "flows", tenant=tenant_a)
    wait_for_state(flows, TaskState.SUCCEEDED)
    for task_id in (added, changed):
        until(lambda: outcomes(task_id)[:1] == ["failed"])  # noqa: B023  # looked at in this round only

    enqueue(tasks.hold, "all the slots of the old ones", tenant=tenant_a, priority=100)
    effects.wait_for("all the slots of the old ones started 1")
    rollout.start("new", NEW)

    for task_id in (added, changed):
        wait_for_state(task_id, TaskState.SUCCEEDED)
    assert {"new adds", "new greets Ada in fr"} <= set(effects.lines())


def test_what_new_workers_no_longer_know_is_run_by_the_old_ones_that_are_left(
    rollout: Rollout, effects: Effects, tenant_a: Tenant
) -> None:
    rollout.start("new", NEW)
    retired = put(tenant_a, "rolling.retired")
    until(lambda: outcomes(retired)[:1] == ["failed"])

    enqueue(tasks.hold, "all the slots of the new ones", tenant=tenant_a, priority=100)
    effects.wait_for("all the slots of the new ones started 1")
    rollout.start("old", OLD)

    wait_for_state(retired, TaskState.SUCCEEDED)
    assert "old retires" in effects.lines()
