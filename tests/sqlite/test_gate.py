"""The write gate, between processes and between the threads of one."""

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event, Thread

import pytest

from scheduling.errors import TaskTimeout
from scheduling.sqlite import gate as module
from scheduling.sqlite.gate import GateTimeout, WriteGate, gate_for
from tests.races.kit import is_running_in
from tests.sqlite.keeper import Keeper
from tests.sqlite.test_transactions import Strike
from tests.waiting import until

A_LITTLE, SHORT, LONG = 0.02, 0.1, 30.0


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def gate(database: Path) -> WriteGate:
    """Of this process."""
    return gate_for(str(database))


@pytest.fixture
def keepers(database: Path) -> Iterator[tuple[Keeper, Keeper]]:
    """Two other processes."""
    with ExitStack() as stack:
        yield stack.enter_context(Keeper(database)), stack.enter_context(Keeper(database))


def is_open_here(path: str) -> bool:
    """Whether this process has the file open."""
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            if str(descriptor.readlink()) == path:
                return True
    return False


# Between processes


def test_one_process_is_inside_at_a_time(keepers: tuple[Keeper, Keeper]) -> None:
    one, two = keepers
    assert one.ask("enter 30") == "inside"
    assert two.ask("enter 0.1") == "timeout"
    two.tell("enter 30")
    assert one.ask("leave") == "outside"
    assert two.answer() == "inside"


def test_nobody_loses_count(keepers: tuple[Keeper, Keeper], tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    for keeper in keepers:
        keeper.tell(f"count {counter} 1000")
    assert [keeper.answer() for keeper in keepers] == ["counted"] * 2
    assert counter.read_text() == "2000"


def test_a_busy_process_lets_the_other_one_in(
    keepers: tuple[Keeper, Keeper], gate: WriteGate
) -> None:
    """It goes in and out until the other one has been inside, however long that takes."""
    other = keepers[0]
    inside = Event()
    other.tell("enter 30")

    def wait_for_the_other() -> None:
        assert other.answer() == "inside"
        inside.set()
        other.ask("leave")

    waiting = Thread(target=wait_for_the_other)
    waiting.start()
    while not inside.is_set():
        gate.enter(gate, LONG)
        gate.leave(gate)
    waiting.join()


def test_a_killed_holder_lets_go(keepers: tuple[Keeper, Keeper]) -> None:
    one, two = keepers
    one.ask("enter 30")
    two.tell("enter 30")
    one.kill()
    assert two.answer() == "inside"


def test_a_stopped_holder_is_waited_for_in_vain_until_it_goes_on(
    keepers: tuple[Keeper, Keeper],
) -> None:
    one, two = keepers
    one.ask("enter 30")
    one.signal(signal.SIGSTOP)
    assert two.ask("enter 0.1") == "timeout"
    assert two.ask("enter 0.1") == "timeout"
    one.signal(signal.SIGCONT)
    assert one.ask("leave") == "outside"
    assert two.ask("enter 30") == "inside"
    assert one.ask("enter 0.1") == "timeout"


def test_of_a_crowd_that_finds_the_holder_stuck_one_waits_and_the_others_know(
    keepers: tuple[Keeper, Keeper], gate: WriteGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    keepers[0].ask("enter 30")
    waits: list[float] = []
    wait_for_file = WriteGate._wait_for_file

    def wait(self: WriteGate, file: int, timeout: float) -> None:
        waits.append(timeout)
        wait_for_file(self, file, timeout)

    monkeypatch.setattr(WriteGate, "_wait_for_file", wait)
    monkeypatch.setattr(module, "REST", LONG)
    for _ in range(5):
        with pytest.raises(GateTimeout):
            gate.enter(gate, SHORT)
    assert waits == [SHORT]

    keepers[0].ask("leave")
    gate.enter(gate, LONG)  # one that waited in vain is still in the kernel's line
    gate.leave(gate)
    until(lambda: not gate._late or gate._late.is_gone(0), what="for it to let go")
    keepers[0].ask("enter 30")
    with pytest.raises(GateTimeout):
        gate.enter(gate, SHORT)
    assert len([wait for wait in waits if wait <= SHORT]) == 2, (
        "nobody remembered that one was let in"
    )


def test_those_who_wait_in_vain_one_after_the_other_have_one_place_in_the_line(
    keepers: tuple[Keeper, Keeper], gate: WriteGate
) -> None:
    keepers[0].ask("enter 30")
    with pytest.raises(GateTimeout):
        gate.enter(gate, SHORT)
    first = threads_in_line()
    for patience in (
        2 * SHORT,
        3 * SHORT,
    ):  # who is more patient than the last one waits for itself
        began_at = time.monotonic()
        with pytest.raises(GateTimeout):
            gate.enter(gate, patience)
        assert time.monotonic() - began_at >= patience
    assert threads_in_line() == first

    other = Thread(target=partial(gate.enter, gate, LONG))
    other.start()
    keepers[0].ask("leave")
    other.join()
    assert keepers[0].ask("enter 0.1") == "timeout"
    gate.leave(gate)


def threads_in_line() -> set[Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "write-gate"}


def test_a_child_forked_while_one_that_gave_up_is_in_the_line_keeps_nobody_out(
    keepers: tuple[Keeper, Keeper], gate: WriteGate
) -> None:
    one, two = keepers
    one.ask("enter 30")
    with pytest.raises(GateTimeout):
        gate.enter(gate, SHORT)
    lives, lets_live = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(lets_live)
        os.read(lives, 1)
        os._exit(0)
    one.ask("leave")
    assert two.ask("enter 10") == "inside"
    two.ask("leave")
    gate.enter(gate, LONG)
    gate.leave(gate)
    os.close(lives)
    os.close(lets_live)
    os.waitpid(child, 0)


def test_who_is_struck_at_any_point_of_waiting_in_vain_keeps_nobody_out(
    keepers: tuple[Keeper, Keeper], tmp_path: Path
) -> None:
    holder, next_one = keepers
    for point in count(1):
        holder.ask("enter 30")
        gate = WriteGate(gate_for(str(tmp_path / "ledger.db")).path)
        struck = False
        sys.setprofile(Strike(point))
        try:
            gate.enter("victim", A_LITTLE)
        except TaskTimeout:
            struck = True
        except GateTimeout:
            pass
        finally:
            sys.setprofile(None)
        gate.leave("victim")
        holder.ask("leave")
        assert next_one.ask("enter 10") == "inside", f"shut out after point {point}"
        next_one.ask("leave")
        if not struck:
            break
    assert point > 20, "it was hardly struck"


def test_who_comes_once_the_stuck_holder_went_on_waits_for_whoever_is_inside_by_then(
    keepers: tuple[Keeper, Keeper], gate: WriteGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the time in which nobody waits for one that is stuck."""
    was_stuck, other = keepers
    monkeypatch.setattr(module, "REST", LONG)
    was_stuck.ask("enter 30")
    with pytest.raises(GateTimeout):
        gate.enter(gate, SHORT)
    was_stuck.ask("leave")
    until(lambda: not is_open_here(gate.path), what="for the one that gave up to let go")
    other.ask("enter 30")
    wait_for_file = WriteGate._wait_for_file

    def wait(self: WriteGate, file: int, timeout: float) -> None:
        assert timeout == SHORT
        other.ask("leave")
        wait_for_file(self, file, LONG)

    monkeypatch.setattr(WriteGate, "_wait_for_file", wait)
    gate.enter(gate, SHORT)
    assert other.ask("enter 0.1") == "timeout"
    gate.leave(gate)


def test_who_waited_in_vain_for_a_thread_of_the_same_process_waits_for_the_next_one(
    gate: WriteGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REST", LONG)
    monkeypatch.setattr(module, "A_MOMENT", LONG)
    waited = Event()

    def wait_twice() -> None:
        with pytest.raises(GateTimeout):
            gate.enter("patient", SHORT)
        waited.set()
        gate.enter("patient", SHORT)

    gate.enter("holder", LONG)
    thread = Thread(target=wait_twice)
    thread.start()
    assert waited.wait(10)
    gate.leave("holder")
    thread.join()
    assert gate.holder == "patient"
    gate.leave("patient")


def test_a_forked_child_is_not_inside_with_its_parent(keepers: tuple[Keeper, Keeper]) -> None:
    parent, other = keepers
    parent.ask("enter 30")
    assert parent.ask("fork") == "timeout"
    assert other.ask("enter 0.1") == "timeout", "the child's end let the parent's lock go"
    parent.ask("leave")
    assert parent.ask("fork") == "inside"
    assert other.ask("enter 30") == "inside"


def test_who_gave_up_closes_the_file_and_is_not_let_in_later(
    keepers: tuple[Keeper, Keeper], gate: WriteGate
) -> None:
    one, two = keepers
    one.ask("enter 30")
    with pytest.raises(GateTimeout):
        gate.enter(gate, SHORT)
    one.ask("leave")
    until(lambda: not is_open_here(gate.path), what="for the file to be closed")
    assert two.ask("enter 30") == "inside"
    two.ask("leave")
    gate.enter(gate, LONG)
    assert one.ask("enter 0.1") == "timeout"
    gate.leave(gate)


# Between threads


def start(work: Callable[[], None]) -> Thread:
    """A thread that comes to wait for the gate."""
    thread = Thread(target=work)
    thread.start()
    assert thread.ident
    until(partial(is_running_in, thread.ident, "WriteGate.enter"), what="for the thread to wait")
    return thread


def test_every_thread_is_let_in_once(gate: WriteGate) -> None:
    inside: list[int] = []

    def write(who: int) -> None:
        gate.enter(who, LONG)
        inside.append(who)
        gate.leave(who)

    gate.enter("holder", LONG)
    threads = [start(partial(write, who)) for who in range(4)]
    assert inside == []
    gate.leave("holder")
    for thread in threads:
        thread.join()
    assert sorted(inside) == [0, 1, 2, 3]


def test_who_gave_up_is_not_let_in_later(gate: WriteGate) -> None:
    gave_up = Event()

    def wait_briefly() -> None:
        with pytest.raises(GateTimeout):
            gate.enter("impatient", SHORT)
        gave_up.set()

    gate.enter("holder", LONG)
    start(wait_briefly).join()
    assert gave_up.is_set()
    assert gate.holder == "holder"
    gate.leave("holder")
    assert gate.holder is None


def test_leaving_from_outside_lets_nobody_else_in(gate: WriteGate) -> None:
    gate.enter("holder", LONG)
    gate.leave("somebody else")
    assert gate.holder == "holder"
    gate.leave("holder")
    gate.leave("holder")
    gate.enter("next", LONG)
    gate.leave("next")


def test_a_thread_that_is_struck_as_it_is_let_in_passes_its_turn_on(gate: WriteGate) -> None:
    struck = Event()

    def write() -> None:
        try:
            gate.enter("victim", LONG)
        except TaskTimeout:
            gate.leave("victim")  # as clearing its connections does
            struck.set()

    gate.enter("holder", LONG)
    victim = start(write)
    assert victim.ident
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(victim.ident), ctypes.py_object(TaskTimeout)
    )
    gate.leave("holder")
    victim.join()
    assert struck.is_set()
    gate.enter("next", SHORT)
    gate.leave("next")


def test_the_turn_of_a_thread_that_ended_inside_can_be_given_back(gate: WriteGate) -> None:
    thread = Thread(target=partial(gate.enter, "gone", LONG))
    thread.start()
    thread.join()
    with pytest.raises(GateTimeout):
        gate.enter("next", SHORT)
    gate.leave("gone")
    gate.enter("next", SHORT)
    gate.leave("next")


def test_coming_in_twice_takes_leaving_once(gate: WriteGate) -> None:
    """Whose transaction was struck as it began, and who goes on regardless, begins another one."""
    gate.enter("holder", LONG)
    gate.enter("holder", LONG)
    gate.leave("holder")
    thread = Thread(target=partial(gate.enter, "next", LONG))
    thread.start()
    thread.join()
    assert gate.holder == "next"
    gate.leave("next")


def test_who_comes_right_after_the_holder_left_does_not_stumble_over_one_that_gave_up(
    keepers: tuple[Keeper, Keeper], gate: WriteGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that waited for it gets the lock late, and lets it go again: that is no reason to refuse."""
    other, _ = keepers
    has_it, may_let_go = Event(), Event()
    close, is_gone = os.close, module._Waiter.is_gone

    def close_when_told(file: int) -> None:
        has_it.set()
        may_let_go.wait(10)
        close(file)

    def tell_and_look(waiter: module._Waiter, timeout: float) -> bool:
        may_let_go.set()
        return is_gone(waiter, 10)

    other.ask("enter 30")
    with pytest.raises(GateTimeout):
        gate.enter(gate, 0.05)
    monkeypatch.setattr(os, "close", close_when_told)
    monkeypatch.setattr(module._Waiter, "is_gone", tell_and_look)
    other.ask("leave")
    assert has_it.wait(10)

    gate.enter(gate, 0.05)

    assert gate.is_inside(gate)
    gate.leave(gate)
