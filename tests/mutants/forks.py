"""Owns the processes that one fault each is put into: forks of the one in which all is imported."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

PASSED, FAILED, RAISED = 0, 1, 4
TOO_LONG = -signal.SIGKILL


def in_fork(work: Callable[[], int], *, seconds: float) -> int:
    """What the work answers in a process of its own; RAISED if it raised something, TOO_LONG if it was ended."""
    pid = os.fork()
    if pid == 0:
        _be_a_fork(work)
    ends_at = time.monotonic() + seconds
    ended, status = 0, 0
    while not ended and time.monotonic() < ends_at:
        time.sleep(0.002)
        ended, status = os.waitpid(pid, os.WNOHANG)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # with all that its tests have started
    if not ended:
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _be_a_fork(work: Callable[[], int]) -> None:
    """Quiet, unless it is asked why it raises something: MUTANTS_LOUD=1."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    if "MUTANTS_LOUD" not in os.environ:
        os.dup2(nothing, sys.stderr.fileno())
    status = RAISED
    try:
        status = work()
    finally:
        if status == RAISED:
            traceback.print_exc()
        os._exit(status)


def first_failure(items: Sequence[pytest.Item]) -> pytest.Item | None:
    for item, following in zip(items, [*items[1:], None], strict=True):
        if fails(item, following):
            return item
    return None


def fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    before = item.session.testsfailed
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return item.session.testsfailed > before
