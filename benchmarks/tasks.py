"""The tasks that are measured. They log their start, as the peers' do, so that all pay the same for it."""

import time

from benchmarks.props import note_start
from scheduling.compat import task


@task()
def noop(number: int, sent_at: float) -> None:
    note_start(number, sent_at)


@task()
def sleepy(number: int, sent_at: float, seconds: float) -> None:
    note_start(number, sent_at)
    time.sleep(seconds)
