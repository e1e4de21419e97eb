"""How much is claimed, and when."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from scheduling import ledger
from scheduling.ledger.values import Succeed
from scheduling.workers import appetite
from scheduling.workers.board import Board
from scheduling.workers.claiming import CONTENDED_WAIT, Claiming
from scheduling.workers.doorbell import Doorbell
from scheduling.workers.hand import Hand
from scheduling.workers.options import Options
from scheduling.workers.slots import Report, Slots
from scheduling.workers.timeouts import FOREVER, Watch
from tests.workers.kit import Clock, a_claim

SLOTS = 4
SLOW_LOOK = 1.0
PLACES = 1000


class Kitchen:
    """A claiming whose ledger and slots do nothing by themselves: no slot is ever started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ready: int) -> None:
        self.ready = ready
        self.contended = False
        self.takes_long: Callable[[], None] = lambda: None
        self.limits: list[int] = []
        board = Board(PLACES)  # what was run is not settled here, and keeps its places
        self.hand = Hand(board)
        self.slots = Slots(SLOTS, lambda held: Succeed(), board, Doorbell())
        options = Options(threads=SLOTS, lease=timedelta(seconds=30))
        watch = Watch(self.hand.held, lambda _: None)
        self.claiming = Claiming(uuid4(), options, self.hand, self.slots, watch)
        monkeypatch.setattr(ledger, "claim", self.claim)

    def claim(self, worker: Any, *, limit: int, **options: Any) -> ledger.Claims:
        self.limits.append(limit)
        self.takes_long()
        got = min(limit, self.ready)
        self.ready -= got
        return ledger.Claims([a_claim() for _ in range(got)], contended=self.contended)

    def run_all(self, seconds: float) -> None:
        """As if the slots had run everything they were given, each for so long."""
        for held in self.slots.take_back():
            self.hand.conclude(held, Succeed())
            self.claiming.note(Report(held, Succeed(), seconds))


def test_at_first_no_more_is_claimed_than_can_be_started(
    monkeypatch: pytest.MonkeyPatch, moved_clock: Clock
) -> None:
    kitchen = Kitchen(monkeypatch, ready=100)
    kitchen.claiming.run()
    kitchen.claiming.run()

    assert kitchen.limits == [SLOTS]
    assert kitchen.slots.waiting() == SLOTS


def test_short_tasks_are_claimed_ahead(monkeypatch: pytest.MonkeyPatch, moved_clock: Clock) -> None:
    kitchen = Kitchen(monkeypatch, ready=1000)
    kitchen.claiming.run()
    kitchen.run_all(seconds=0.00001)

    kitchen.claiming.run()

    assert kitchen.limits == [SLOTS, SLOTS + appetite.MOST_AHEAD]


@pytest.mark.parametrize(("claim_takes", "held"), [(0.0, 0.004), (2**-9, 2**-7), (0.1, 0.010)])
def test_as_much_is_claimed_ahead_as_is_run_while_the_ledger_is_asked_again(
    claim_takes: float, held: float, monkeypatch: pytest.MonkeyPatch, moved_clock: Clock
) -> None:
    kitchen = Kitchen(monkeypatch, ready=1000)
    kitchen.takes_long = lambda: moved_clock.pass_(claim_takes)
    kitchen.claiming.run()
    kitchen.run_all(seconds=2**-10)

    kitchen.claiming.run()

    assert kitchen.limits == [SLOTS, SLOTS + int(SLOTS * held / 2**-10)]


def test_no_more_is_claimed_while_most_of_it_waits(
    monkeypatch: pytest.MonkeyPatch, moved_clock: Clock
) -> None:
    """One large claim costs less than many small ones."""
    kitchen = Kitchen(monkeypatch, ready=10_000)
    kitchen.claiming.run()
    kitchen.run_all(seconds=0.00001)
    kitchen.claiming.run()
    claims = kitchen.slots.take_back()

    kitchen.slots.put(claims[1:])
    kitchen.claiming.note(Report(claims[0], Succeed(), 0.00001))
    assert kitchen.claiming.due_at > moved_clock.seconds
    kitchen.claiming.run()
    assert len(kitchen.limits) == 2

    kitchen.slots.take_back()
    for held in claims[1 : len(claims) // 2 + 1]:
        kitchen.claiming.note(Report(held, Succeed(), 0.00001))
    kitchen.slots.put(claims[len(claims) // 2 + 1 :])
    assert kitchen.claiming.due_at <= moved_clock.seconds
    kitchen.claiming.run()
    assert kitchen.limits[2] == len(claims) // 2 + 1


def test_what_is_not_settled_takes_room(
    monkeypatch: pytest.MonkeyPatch, moved_clock: Clock
) -> None:
    """There is a record on the board for each claim that the ledger was not told the end of."""
    kitchen = Kitchen(monkeypatch, ready=10_000)
    while kitchen.hand.room():
        kitchen.claiming.run()
        kitchen.run_all(seconds=0.00001)
    assert kitchen.claiming.due_at == FOREVER
    kitchen.claiming.run()
    assert sum(kitchen.limits) == PLACES


def test_long_tasks_are_not(monkeypatch: pytest.MonkeyPatch, moved_clock: Clock) -> None:
    kitchen = Kitchen(monkeypatch, ready=1000)
    kitchen.claiming.run()
    kitchen.run_all(seconds=1.0)

    kitchen.claiming.run()

    assert kitchen.limits == [SLOTS, SLOTS]


def test_after_finding_too_little_it_looks_when_it_is_woken_or_a_slow_look_later(
    monkeypatch: pytest.MonkeyPatch, moved_clock: Clock
) -> None:
    kitchen = Kitchen(monkeypatch, ready=0)
    kitchen.claiming.run()
    assert kitchen.claiming.due_at == moved_clock.seconds + SLOW_LOOK

    kitchen.claiming.run()
    assert kitchen.limits == [SLOTS]

    kitchen.claiming.look_now()
    assert kitchen.claiming.due_at <= moved_clock.seconds
    kitchen.claiming.run()
    assert kitchen.limits == [SLOTS, SLOTS]


def test_contended_claim_looks_again_within_milliseconds(
    monkeypatch: pytest.MonkeyPatch, moved_clock: Clock
) -> None:
    kitchen = Kitchen(monkeypatch, ready=0)
    kitchen.contended = True
    kitchen.claiming.run()

    assert kitchen.claiming.due_at == moved_clock.seconds + CONTENDED_WAIT


def test_full_slots_are_not_claimed_for(
    monkeypatch: pytest.MonkeyPatch, moved_clock: Clock
) -> None:
    kitchen = Kitchen(monkeypatch, ready=100)
    kitchen.claiming.run()
    kitchen.slots.take_back()  # every slot took one and is busy with it

    assert kitchen.claiming.due_at == FOREVER


def test_slot_lost_to_a_handler_that_was_given_up_on_stays_taken(
    monkeypatch: pytest.MonkeyPatch, moved_clock: Clock
) -> None:
    kitchen = Kitchen(monkeypatch, ready=100)
    kitchen.claiming.run()
    first, *_ = kitchen.slots.take_back()
    kitchen.claiming.note(Report(first, Succeed(), 0.0, slot_is_free=False))

    assert kitchen.claiming.due_at == FOREVER


def test_what_waits_behind_long_tasks_is_handed_back(
    monkeypatch: pytest.MonkeyPatch, moved_clock: Clock
) -> None:
    kitchen = Kitchen(monkeypatch, ready=SLOTS)
    kitchen.claiming.run()
    monkeypatch.setattr(kitchen.slots, "all_busy", lambda: True)
    moved_clock.pass_(appetite.PATIENCE / 2)
    kitchen.claiming.run()
    assert not kitchen.hand.has_news()

    moved_clock.pass_(appetite.PATIENCE)
    assert kitchen.claiming.due_at <= moved_clock.seconds
    kitchen.claiming.run()

    assert kitchen.slots.waiting() == 0
    assert kitchen.hand.has_news()


def test_what_a_free_slot_is_slow_to_start_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch, moved_clock: Clock
) -> None:
    kitchen = Kitchen(monkeypatch, ready=SLOTS)
    kitchen.claiming.run()
    moved_clock.pass_(2 * appetite.PATIENCE)
    kitchen.claiming.run()

    assert kitchen.slots.waiting() == SLOTS
    assert kitchen.claiming.due_at > moved_clock.seconds
