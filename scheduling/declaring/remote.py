"""Tasks of remote queues: whoever runs them has other code, so any name is taken, and any payload."""

from typing import Any

from scheduling import options
from scheduling.compat import task
from scheduling.conf import conf
from scheduling.declaring.ledger_task import LedgerTask
from scheduling.errors import InvalidTask


def is_remote(queue: object) -> bool:
    """Whether the tasks of that queue are for remote workers. False also for what no queue can be called."""
    return queue in conf().REMOTE_QUEUES


def task_called(name: object) -> LedgerTask:
    """A task of that name, with the options of one that declares none. Raises InvalidTask."""
    if fault := options.name_fault(name):
        raise InvalidTask({"name": fault})
    called: LedgerTask = anything.called(str(name))
    return called


@task()
def anything(**payload: Any) -> None:
    """Stands for what runs elsewhere. Never called: no Python worker claims from a remote queue."""
    raise NotImplementedError("This task is run by remote workers.")
