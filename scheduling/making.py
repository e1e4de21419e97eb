"""What the tasks of a recurring task are made of: the one check behind every entrance where people say so."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from scheduling import enqueueing
from scheduling.declaring import registry, remote
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.errors import InvalidTask

OF_THE_TASK = ("queue", "priority", "max_attempts", "timeout_seconds")
"""What a task declares, and a recurring task may say otherwise."""
NOBODY = 0
"""The check is the same for every tenant."""


def task_meant(name: object, queue: object) -> LedgerTask:
    """What is to be run: one of the tasks that are offered, or whatever the workers of a remote queue know."""
    if remote.is_remote(queue):
        return remote.task_called(name)
    task = registry.exposed(name) if isinstance(name, str) else None
    if task is None:
        raise InvalidTask({"name": "is not the name of a task that can be enqueued here"})
    return task


def what_is_made(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The options of the tasks to be made, those that are not given as the task declares them; and what is wrong.

    By the names of the fields. None stands for what is not given, of all but the payload.
    """
    arguments = given.get("payload", {})
    if not isinstance(arguments, dict):
        return {}, {"payload": "must be an object"}
    options = {option: given.get(option) for option in OF_THE_TASK}
    try:
        task = task_meant(given.get("task_name"), given.get("queue"))
        new = enqueueing.new_task(task, (), arguments, tenant_id=NOBODY, **options)
    except InvalidTask as error:
        return {}, {
            "task_name" if field == "name" else field: fault
            for field, fault in error.errors.items()
        }
    made = {option: getattr(new, option) for option in OF_THE_TASK}
    deadline = given.get("deadline_seconds")
    if deadline is None and isinstance(task.deadline, timedelta):
        deadline = task.deadline.total_seconds()
    return made | {"deadline_seconds": deadline}, {}
