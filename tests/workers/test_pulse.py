"""A process without a pulse is told from one that is busy, and from a supervisor that did not look."""

from datetime import timedelta

from scheduling.workers.board import Board, Tally
from scheduling.workers.pulse import LEAST_PATIENCE, LOOK, Pulse

SHORT_LEASE = timedelta(seconds=1)
LOOKS = int(LEAST_PATIENCE / LOOK)


def looks_until_it_has_stopped(pulse: Pulse, beats: int) -> int:
    looks = 1
    while not pulse.has_stopped(beats):
        looks += 1
    return looks


def test_process_that_never_beats_has_stopped() -> None:
    assert looks_until_it_has_stopped(Pulse(SHORT_LEASE), 0) == LOOKS


def test_one_beat_is_a_new_life() -> None:
    pulse = Pulse(SHORT_LEASE)
    for _ in range(LOOKS - 1):
        assert not pulse.has_stopped(0)
    assert not pulse.has_stopped(1)
    assert looks_until_it_has_stopped(pulse, 1) == LOOKS


def test_process_is_given_two_leases_to_come_back_in() -> None:
    lease = timedelta(seconds=2 * LEAST_PATIENCE)
    assert looks_until_it_has_stopped(Pulse(lease), 0) == 4 * LOOKS


def test_beats_are_counted_beside_everything_else() -> None:
    board = Board(1)
    board.count(Tally(done=1, refused=2))
    board.beat()
    board.beat()
    assert board.beats() == 2
    assert board.tally() == Tally(done=1, refused=2)
