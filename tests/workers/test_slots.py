"""Slot threads: each claim is run by one of them, or taken back, never both."""

import select
import threading
from uuid import UUID

from scheduling.ledger.values import Succeed, Verdict
from scheduling.workers.board import Board, Stage
from scheduling.workers.doorbell import Doorbell
from scheduling.workers.held import Held
from scheduling.workers.slots import Slots
from tests.waiting import until
from tests.workers.kit import a_claim

MANY = 2000


def test_every_claim_is_run_once_or_taken_back() -> None:
    ran: list[Held] = []

    def note(held: Held) -> Verdict:
        ran.append(held)
        return Succeed()

    board = Board(MANY)
    slots = Slots(4, note, board, Doorbell())
    slots.start()
    claims = [Held(a_claim(), place=place, claimed_at=0, lease_ends_at=0) for place in range(MANY)]
    taken_back = []
    for held in claims:
        slots.put([held], are_short=held.place % 3 == 0)
        if held.place % 50 == 0:
            taken_back += slots.take_back()

    until(lambda: len(slots.reports) + len(taken_back) == MANY)

    assert sorted(held.place for held in [*ran, *taken_back]) == list(range(MANY))
    assert {record.stage for record in board.records()} == {Stage.FINISHED}


def test_running_claim_is_on_the_board_with_its_thread() -> None:
    started, may_end = threading.Event(), threading.Event()
    threads: list[int] = []

    def wait(held: Held) -> Verdict:
        threads.append(threading.get_ident())
        started.set()
        may_end.wait(10)
        return Succeed()

    board, bell = Board(1), Doorbell()
    slots = Slots(1, wait, board, bell)
    slots.start()
    claim = a_claim(task_id=UUID(int=7), generation=3)
    slots.put([Held(claim, place=0, claimed_at=0, lease_ends_at=0)])
    started.wait(10)

    (record,) = board.records()
    assert (record.task_id, record.generation, record.stage) == (UUID(int=7), 3, Stage.RUNNING)
    assert record.thread == threads[0]
    assert slots.all_busy()
    may_end.set()
    until(lambda: slots.reports)


def test_short_tasks_ring_when_half_of_them_are_done() -> None:
    """While plenty more wait, nobody is woken for each; the others are looked for at a given time."""
    may_run = threading.Semaphore(0)

    def run(held: Held) -> Verdict:
        may_run.acquire(timeout=10)
        return Succeed()

    bell = Doorbell()
    slots = Slots(1, run, Board(10), bell)
    slots.put([held(place=place) for place in range(10)], are_short=True)
    slots.quiet_until = float("inf")
    slots.start()
    may_run.release(4)
    until(lambda: len(slots.reports) == 4)
    assert not is_rung(bell)
    may_run.release(1)
    until(lambda: is_rung(bell))
    may_run.release(5)
    until(lambda: len(slots.reports) == 10)


def test_short_tasks_ring_as_well_once_it_was_quiet_for_long_enough() -> None:
    bell = Doorbell()
    slots = Slots(1, lambda held: Succeed(), Board(10), bell)
    slots.put([held(place=place) for place in range(10)], are_short=True)
    slots.quiet_until = 0.0
    slots.start()
    until(lambda: is_rung(bell))


def held(place: int) -> Held:
    return Held(a_claim(), place=place, claimed_at=0, lease_ends_at=0)


def is_rung(bell: Doorbell) -> bool:
    return bool(select.select([bell], [], [], 0)[0])
