"""Scenarios 12, 14, 15: handlers that do not end, end strangely, or are not there."""

import socket
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from scheduling import ledger
from scheduling.builtin import http
from scheduling.ledger.values import NewTask
from scheduling.models import Attempt
from scheduling.states import DeadReason, TaskState
from tenants.models import Tenant
from tests.app import tasks
from tests.faults.conftest import Start
from tests.faults.kit import Effects, enqueue, outcomes, the_task, wait_for_state
from tests.waiting import until

SLOW_LEASE = "--lease-seconds=300"
SOON = timedelta(milliseconds=300)

MODULE_THAT_EXITS = """\
from scheduling.compat import task
from tests.app.effects import append

@task(name="exiting.early")
def early() -> None:
    append("ran without the rest of its module")

exit()
"""
SETTINGS_WITH_EXITING = """\
from tests.settings import *
INSTALLED_APPS = [*INSTALLED_APPS, "exiting"]
"""


def test_handlers_that_python_can_interrupt_are_timed_out_and_their_process_goes_on(
    start_workers: Start, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SLOW_LEASE)
    overdue = [
        enqueue(task, tenant=tenant_a, max_attempts=1, timeout=SOON)
        for task in (tasks.loop_for_ever, tasks.sleep_for_ever)
    ]

    assert errors_of(overdue) == ["scheduling.errors.TaskTimeout"] * 2
    after = enqueue(tasks.noop, tenant=tenant_a)
    wait_for_state(after, TaskState.SUCCEEDED)
    assert Attempt.objects.values("worker").distinct().count() == 1


def test_a_request_to_a_host_that_stays_silent_is_timed_out_and_its_process_goes_on(
    start_workers: Start, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SLOW_LEASE)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        overdue = enqueue(http.request, url, tenant=tenant_a, max_attempts=1, timeout=SOON)
        assert errors_of([overdue]) == ["scheduling.errors.TaskTimeout"]

    after = enqueue(tasks.noop, tenant=tenant_a)
    wait_for_state(after, TaskState.SUCCEEDED)
    assert Attempt.objects.values("worker").distinct().count() == 1


def test_handlers_that_nothing_can_interrupt_are_timed_out_and_their_process_is_replaced(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SLOW_LEASE, "--grace-seconds=1")
    bystander = enqueue(tasks.hold, "a", tenant=tenant_a, max_attempts=1)
    overdue = [
        enqueue(task, tenant=tenant_a, max_attempts=1, timeout=SOON)
        for task in (tasks.catch_everything, tasks.read_a_silent_socket, tasks.wait_for_a_lock)
    ]

    assert errors_of(overdue) == ["scheduling.errors.TaskTimeout"] * 3
    effects.wait_for("a started 2")
    assert outcomes(bystander) == ["released"]


def test_unknown_and_misfitting_handlers_are_tried_again_then_dead_and_other_tasks_flow(
    start_workers: Start, effects: Effects, tenant_a: Tenant
) -> None:
    start_workers("--processes=1", SLOW_LEASE)
    name = tasks.effect.module_path
    absent = [
        NewTask(tenant_id=tenant_a.pk, name="reports.retired", max_attempts=1),
        NewTask(
            tenant_id=tenant_a.pk, name=name, kwargs_json='{"text": "renamed"}', max_attempts=1
        ),
        NewTask(tenant_id=tenant_a.pk, name="reports.retired", max_attempts=100),
    ]
    retired, misfit, patient = [one.task_id for one in ledger.enqueue(absent)]
    other = enqueue(tasks.effect, "flows", tenant=tenant_a)

    for task_id in (retired, misfit):
        assert wait_for_state(task_id, TaskState.DEAD).dead_reason == DeadReason.UNKNOWN_HANDLER
    wait_for_state(other, TaskState.SUCCEEDED)
    until(lambda: outcomes(patient)[:1] == ["failed"])
    assert the_task(patient).state != TaskState.DEAD


def test_module_of_tasks_that_exits_while_it_is_imported_costs_its_own_tasks_only(
    start_workers: Start,
    effects: Effects,
    tenant_a: Tenant,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = tmp_path / "exiting"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "tasks.py").write_text(MODULE_THAT_EXITS)
    (tmp_path / "settings_with_exiting.py").write_text(SETTINGS_WITH_EXITING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    workers = start_workers("--processes=1", SLOW_LEASE, settings="settings_with_exiting")
    names = ("exiting.early", "exiting.tasks.early")
    of_module = [NewTask(tenant_id=tenant_a.pk, name=name, max_attempts=1) for name in names]
    unknown = [one.task_id for one in ledger.enqueue(of_module)]
    other = enqueue(tasks.effect, "flows", tenant=tenant_a)

    for task_id in unknown:
        assert wait_for_state(task_id, TaskState.DEAD).dead_reason == DeadReason.UNKNOWN_HANDLER
    wait_for_state(other, TaskState.SUCCEEDED)
    assert effects.lines() == ["flows"]
    assert "exiting.tasks cannot be imported" in workers.said()


def errors_of(task_ids: Iterable[UUID]) -> list[str]:
    """The classes of the errors that they died of."""
    errors = [wait_for_state(task_id, TaskState.DEAD).error for task_id in task_ids]
    return [error["class"] for error in errors if error]
