"""Which thread gets to which claim: one after the other while they are short, all at once otherwise."""

import threading

import pytest

from scheduling.workers import backlog
from scheduling.workers.backlog import Backlog
from scheduling.workers.held import Held
from tests.waiting import until
from tests.workers.kit import held

TAKERS = 4


class Threads:
    """Takers that note what they took, and stay with it until they may go on."""

    def __init__(self, *, may_go_on: bool) -> None:
        self.backlog = Backlog(TAKERS)
        self.took: list[tuple[int, Held]] = []
        self.may_go_on = threading.Event()
        if may_go_on:
            self.may_go_on.set()
        self.backlog.start()
        for _ in range(TAKERS):
            threading.Thread(target=self.run, daemon=True).start()
        until(self.all_asleep)

    def all_asleep(self) -> bool:
        return len(self.backlog._asleep) == TAKERS

    def run(self) -> None:
        while True:
            claim = self.backlog.take()
            self.took.append((threading.get_ident(), claim))
            self.may_go_on.wait(10)


def test_everything_is_taken_once_and_in_order() -> None:
    threads = Threads(may_go_on=True)
    claims = [held() for _ in range(1000)]
    for start in range(0, 1000, 50):
        threads.backlog.put(claims[start : start + 50], are_short=start % 100 == 0)
    until(lambda: len(threads.took) == 1000)
    until(threads.all_asleep)
    assert {id(claim) for _, claim in threads.took} == {id(claim) for claim in claims}


def test_others_wake_a_thread_each() -> None:
    threads = Threads(may_go_on=False)
    threads.backlog.put([held() for _ in range(TAKERS)], are_short=False)
    until(lambda: len(threads.took) == TAKERS)
    assert len({thread for thread, _ in threads.took}) == TAKERS


def test_short_ones_go_to_one_thread_as_long_as_it_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backlog, "TOO_LONG", 60.0)  # it always does, however busy the machine is
    threads = Threads(may_go_on=True)
    for _ in range(50):
        threads.backlog.put([held() for _ in range(3)], are_short=True)
        until(threads.all_asleep)
    assert len(threads.took) == 150
    assert len({thread for thread, _ in threads.took}) == 1


def test_a_thread_that_stays_away_is_relieved_until_all_are_at_work() -> None:
    threads = Threads(may_go_on=False)
    threads.backlog.put([held() for _ in range(TAKERS + 1)], are_short=True)
    until(lambda: len(threads.took) == TAKERS)
    assert len({thread for thread, _ in threads.took}) == TAKERS
    assert len(threads.backlog) == 1
    threads.may_go_on.set()
    until(lambda: len(threads.took) == TAKERS + 1)


def test_what_comes_later_is_taken_though_the_only_thread_awake_stays_away() -> None:
    threads = Threads(may_go_on=False)
    threads.backlog.put([held()], are_short=False)
    until(lambda: len(threads.took) == 1)
    threads.backlog.put([held()], are_short=True)
    until(lambda: len(threads.took) == 2)


def test_what_is_taken_back_is_run_by_nobody() -> None:
    threads = Threads(may_go_on=False)
    threads.backlog.put([held() for _ in range(TAKERS)], are_short=False)
    until(lambda: len(threads.took) == TAKERS)
    late = [held(), held()]
    threads.backlog.put(late, are_short=False)
    assert threads.backlog.take_back() == late
    assert len(threads.backlog) == 0
    threads.may_go_on.set()
    until(threads.all_asleep)
    assert len(threads.took) == TAKERS
