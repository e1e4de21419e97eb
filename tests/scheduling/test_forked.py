"""What a process keeps to itself is not kept from a child that a handler forks."""

import os
import warnings
from types import ModuleType

import pytest

from scheduling import ids
from scheduling.ledger import admission, paces


@pytest.mark.parametrize("module", [ids, admission, paces], ids=lambda module: module.__name__)
def test_a_lock_that_another_thread_held_at_the_fork_is_free_in_the_child(
    module: ModuleType,
) -> None:
    with module._lock, warnings.catch_warnings(action="ignore"):  # of threads other tests left
        pid = os.fork()
        if pid == 0:
            os._exit(0 if module._lock.acquire(blocking=False) else 1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
