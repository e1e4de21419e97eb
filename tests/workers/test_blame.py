"""Who is charged for the death of a process."""

import os
from uuid import UUID, uuid4

import pytest

from scheduling.workers import blame
from scheduling.workers.blame import crash_in, to_blame
from scheduling.workers.board import Board, Record, Stage

GUILTY, NEIGHBOUR, FINISHED = uuid4(), uuid4(), uuid4()
RECORDS = [
    Record(place=0, task_id=GUILTY, generation=1, thread=10, stage=Stage.RUNNING),
    Record(place=1, task_id=NEIGHBOUR, generation=2, thread=11, stage=Stage.RUNNING),
    Record(place=2, task_id=FINISHED, generation=3, thread=10, stage=Stage.FINISHED),
]
REPORT = b"""Fatal Python error: Segmentation fault

Thread 0x000000000000000b (most recent call first):
  File "handlers.py", line 1 in neighbour

Current thread 0x000000000000000a (most recent call first):
  File "handlers.py", line 2 in guilty
"""


def charged(*, confessed: int | None = None, crashed: int | None = None) -> set[UUID]:
    return {task for task, _ in to_blame(RECORDS, confessed=confessed, crashed=crashed)}


def test_handler_that_confessed_is_charged_alone() -> None:
    assert charged(confessed=0) == {GUILTY}


def test_handler_in_the_crashing_thread_is_charged_and_the_one_that_finished_there_is_not() -> None:
    crash = crash_in(REPORT)
    assert crash is not None
    assert crash.thread == 10
    assert charged(crashed=10) == {GUILTY}


@pytest.mark.parametrize("crashed", [None, 99])
def test_all_that_were_started_are_charged_when_nobody_can_be_named(crashed: int | None) -> None:
    assert charged(crashed=crashed) == {GUILTY, NEIGHBOUR, FINISHED}


def test_process_killed_from_outside_leaves_no_crashing_thread() -> None:
    assert crash_in(b"") is None


def test_note_of_a_crash_tells_nothing_of_the_neighbours() -> None:
    crash = crash_in(REPORT + b"\nThread 0x0c (most recent call first):\n  third\n")
    assert crash is not None
    assert "in guilty" in crash.traceback
    assert "neighbour" not in crash.traceback
    assert "third" not in crash.traceback


def test_signal_that_the_process_survives_is_nobody_s_confession() -> None:
    board = Board(1)
    confessing_kill = blame._confessing(os.kill, board)
    blame.handler_at.set(0)

    confessing_kill(os.getpid(), 0)

    assert board.confessed() is None


def test_confession_is_made_before_the_deed() -> None:
    board = Board(2)
    seen = []
    deadly = blame._confessing(lambda: seen.append(board.confessed()), board)
    blame.handler_at.set(1)

    deadly()

    assert seen == [1]
