"""When a process that died is replaced."""

from dataclasses import dataclass
from typing import Any

from scheduling.workers.seat import FIRST_PAUSE, LONGEST_PAUSE, Seat
from tests.workers.kit import Clock


@dataclass
class Died:
    """A child that is gone."""

    useful: bool

    def was_of_use(self) -> bool:
        return self.useful


def die(seat: Seat, child: Any, clock: Clock) -> float:
    """Seconds until the next may start."""
    seat.child = child
    assert seat.free_at() is None
    seat.vacate()
    free_at = seat.free_at()
    assert free_at is not None
    return free_at - clock.seconds


def test_process_that_ran_tasks_is_replaced_at_once_however_often_they_kill_it(
    moved_clock: Clock,
) -> None:
    seat = Seat()
    assert [die(seat, Died(useful=True), moved_clock) for _ in range(50)] == [0.0] * 50


def test_processes_that_cannot_run_anything_are_started_ever_more_slowly(
    moved_clock: Clock,
) -> None:
    seat = Seat()
    pauses = [die(seat, Died(useful=False), moved_clock) for _ in range(2000)]

    assert 0 < pauses[0] < pauses[1] < pauses[2]
    assert pauses[-1] == LONGEST_PAUSE.total_seconds()
    assert die(seat, Died(useful=True), moved_clock) == 0.0


def test_process_that_cannot_be_started_is_tried_again_later(moved_clock: Clock) -> None:
    seat = Seat()
    seat.postpone()

    assert seat.free_at() == moved_clock.seconds + FIRST_PAUSE.total_seconds()
