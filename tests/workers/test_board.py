"""What a worker process leaves word of is what its supervisor reads."""

from uuid import uuid4

from scheduling.workers.board import Board, Record, Stage, Tally

LARGEST_THREAD = 2**64 - 1


def test_started_claims_are_read_and_settled_ones_are_not() -> None:
    board = Board(3)
    first, second = uuid4(), uuid4()
    board.start(0, first, 7, LARGEST_THREAD)
    board.start(2, second, 1, 5)
    board.finish(2)

    assert board.records() == [
        Record(0, first, 7, LARGEST_THREAD, Stage.RUNNING),
        Record(2, second, 1, 5, Stage.FINISHED),
    ]
    board.clear(0)
    board.clear(2)
    assert board.records() == []


def test_confession_holds_until_it_is_retracted() -> None:
    board = Board(1)
    assert board.confessed() is None
    board.confess(0)
    assert board.confessed() == 0
    board.retract()
    assert board.confessed() is None


def test_tally_adds_up_and_disturbs_nothing_else() -> None:
    board = Board(1)
    board.start(0, uuid4(), 1, 1)
    board.count(Tally(done=2, failed=1))
    board.count(Tally(done=3, retried=4, refused=5))
    board.sign_off()

    assert board.tally() == Tally(done=5, failed=1, retried=4, refused=5)
    assert board.is_signed_off()
    assert board.confessed() is None
    assert len(board.records()) == 1
