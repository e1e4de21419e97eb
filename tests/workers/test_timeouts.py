"""The watch: leases that run out, handlers whose time is up, and those that do not react."""

import subprocess
import sys
from datetime import timedelta
from threading import Event, Thread
from typing import Any

import pytest

from scheduling.errors import TaskTimeout
from scheduling.workers.held import Held
from scheduling.workers.timeouts import FOREVER, REACTION, Interrupt, Watch
from tests.installation import MANAGE
from tests.workers.kit import NOON, Clock, a_claim, held


class Handler:
    """Counts how often it is interrupted."""

    def __init__(self) -> None:
        self.interruptions = 0

    def interrupt(self) -> None:
        self.interruptions += 1


def overdue_at(instant: float) -> tuple[Held, Handler]:
    running, handler = held(), Handler()
    running.overdue_at = instant
    running.running = handler
    return running, handler


def watch_of(*all_held: Held) -> tuple[Watch, list[Held]]:
    """A watch, and those it gave up on."""
    given_up: list[Held] = []
    return Watch(lambda: all_held, given_up.append), given_up


def test_handler_is_told_when_its_lease_ends_unrenewed() -> None:
    mine = held(lease_ends_at=10.0)
    watch, _ = watch_of(mine)

    assert watch.look(9.0) == 10.0
    assert not mine.lease_lost.is_set()
    assert watch.look(10.0) == FOREVER
    assert mine.lease_lost.is_set()
    assert mine.cancelled.is_set()


def test_renewed_lease_is_looked_at_again_at_its_new_end() -> None:
    mine = held(lease_ends_at=10.0)
    watch, _ = watch_of(mine)
    mine.lease_ends_at = 20.0

    assert watch.look(10.0) == 20.0
    assert not mine.lease_lost.is_set()


def test_handler_is_interrupted_once_when_its_time_is_up() -> None:
    mine, handler = overdue_at(10.0)
    watch, given_up = watch_of(mine)

    assert watch.look(9.0) == 10.0
    assert handler.interruptions == 0
    assert watch.look(10.0) == 10.0 + REACTION
    assert watch.look(11.0) == 10.0 + REACTION
    assert handler.interruptions == 1
    assert mine.cancelled.is_set()
    assert given_up == []


def test_handler_that_does_not_react_is_given_up_on_once() -> None:
    mine, _ = overdue_at(10.0)
    watch, given_up = watch_of(mine)
    watch.look(10.0)

    assert watch.look(10.0 + REACTION) == FOREVER
    assert watch.look(20.0 + REACTION) == FOREVER
    assert given_up == [mine]


def test_handler_that_ended_in_time_is_left_alone() -> None:
    mine, handler = overdue_at(10.0)
    watch, given_up = watch_of(mine)
    mine.running = None

    assert watch.look(99.0) == FOREVER
    assert (handler.interruptions, given_up) == (0, [])


def test_watch_wakes_for_what_is_due_before_what_it_waits_for() -> None:
    mine = held()
    watch, _ = watch_of(mine)
    watch.start()
    mine.lease_ends_at = 0.0

    watch.expect(0.0)

    assert mine.lease_lost.wait(10)


def test_deadline_counts_from_the_claim_by_the_ledger_s_clock_and_the_shorter_end_wins(
    moved_clock: Clock,
) -> None:
    claim = a_claim(timeout_seconds=30.0, deadline=NOON + timedelta(seconds=20))
    mine = Held(claim, place=0, claimed_at=moved_clock.seconds - 15, lease_ends_at=FOREVER)
    mine.start_clock()

    assert mine.overdue_at == pytest.approx(moved_clock.seconds + 5)


class Interrupted(Thread):
    """Runs a handler that another thread interrupts."""

    def __init__(self, handler: Any) -> None:
        super().__init__(daemon=True)
        self.handler = handler
        self.ready = Event()
        self.raised: BaseException | None = None

    def run(self) -> None:
        self.interrupt = Interrupt()
        try:
            try:
                self.interrupt.open()
                self.ready.set()
                self.handler()
            finally:
                self.interrupt.close()
        except BaseException as error:  # noqa: BLE001  # it is what the test is about
            self.raised = error


def loop_for_ever() -> None:
    while True:
        pass


def test_interrupt_ends_a_loop() -> None:
    thread = Interrupted(loop_for_ever)
    thread.start()
    thread.ready.wait()

    thread.interrupt.interrupt()

    thread.join(10)
    assert isinstance(thread.raised, TaskTimeout)


def test_interrupt_after_the_handler_ended_reaches_nobody() -> None:
    thread = Interrupted(lambda: None)
    thread.start()
    thread.join(10)

    thread.interrupt.interrupt()

    assert thread.raised is None


def test_after_an_interrupt_calls_can_be_traced() -> None:
    """By a profiler, a debugger, or what measures coverage. In a process of its own, which may have to be killed."""
    code = (
        "import sys\n"
        "from scheduling.workers.timeouts import Interrupt\n"
        "interrupt = Interrupt()\n"
        "interrupt._was_asked = True  # and what was sent has surfaced\n"
        "interrupt.close()\n"
        "sys.setprofile(lambda *_: None)\n"
        "(lambda: None)()\n"
    )
    program = [sys.executable, str(MANAGE), "shell", "-v0", "-c", code]
    subprocess.run(program, check=True, timeout=40)


def test_interrupt_that_comes_before_the_handler_began_keeps_it_from_beginning() -> None:
    interrupt = Interrupt()
    interrupt.interrupt()

    with pytest.raises(TaskTimeout):
        interrupt.open()
    interrupt.close()
