"""Every kind of fault, one function each: how it is done and undone, and what is noted of it."""

import signal
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from django.db import Error, connection

from scheduling.clock import monotonic
from tests.chaos import clocks, plan
from tests.chaos.plan import Kind, Planned
from tests.chaos.processes import Program, send
from tests.chaos.records import Fault
from tests.chaos.stage import Stage

T = TypeVar("T")
Course = Generator[float]

LOOK = 0.1
PATIENCE = 45.0
"""Seconds that a program may take to stop when it is asked to."""
STEPS = (-clocks.HOUR, 0, clocks.HOUR)
SNAPSHOTS = {"sqlite": "BEGIN", "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ"}


class Strikes:
    def __init__(self, stage: Stage) -> None:
        self.done: list[Fault] = []
        self.complaints: list[str] = []
        self._stage = stage
        self._courses: Mapping[Kind, Callable[[Planned], Course]] = {
            Kind.KILL_CHILD: lambda fault: self._kill(fault, self._worker(fault)),
            Kind.KILL_SUPERVISOR: lambda fault: self._kill(fault, leader(self._supervisor(fault))),
            Kind.KILL_GROUP: lambda fault: self._kill(fault, self._supervisor(fault).everybody()),
            Kind.STOP_CHILD: lambda fault: self._stop(fault, self._worker(fault)),
            Kind.STOP_CHILD_LONG: lambda fault: self._stop(fault, self._worker(fault)),
            Kind.STOP_SUPERVISOR: lambda fault: self._stop(fault, leader(self._supervisor(fault))),
            Kind.ROLL: lambda fault: self._roll(fault, self._supervisor(fault)),
            Kind.KILL_WEB_WORKER: lambda fault: self._kill(fault, self._web_worker(fault)),
            Kind.KILL_WEB: lambda fault: self._kill(fault, leader(stage.web)),
            Kind.STOP_WEB_WORKER: lambda fault: self._stop(fault, self._web_worker(fault)),
            Kind.STOP_WEB: lambda fault: self._stop(fault, leader(stage.web)),
            Kind.ROLL_WEB: lambda fault: self._roll(fault, stage.web),
            Kind.STEP_CLOCK: self._step_clock,
            Kind.HOLD_SNAPSHOT: self._hold_snapshot,
            Kind.FILL_DISK: self._fill_disk,
            Kind.RESTART_DATABASE: self._restart_database,
            Kind.DROP_CONNECTIONS: self._drop_connections,
        }

    def course(self, fault: Planned) -> Course:
        """What becomes of a fault from its beginning on. Whom it strikes is decided then."""
        yield from self._courses[fault.kind](fault)

    def _supervisor(self, fault: Planned) -> Program:
        return drawn(self._stage.supervisors, fault.draw)

    def _worker(self, fault: Planned) -> list[int]:
        return self._child_of(self._stage.supervisors, fault.draw)

    def _web_worker(self, fault: Planned) -> list[int]:
        return self._child_of([self._stage.web], fault.draw)

    def _child_of(self, programs: Sequence[Program], draw: float) -> list[int]:
        """One of all there are, or none."""
        children = [pid for program in programs for pid in program.children()]
        return [drawn(children, draw)] if children else []

    @contextmanager
    def _noted(
        self, kind: Kind, pids: Collection[int] = (), *, killed: bool = False, general: bool = False
    ) -> Iterator[None]:
        began_at = monotonic()
        try:
            yield
        finally:
            ended_at = monotonic()
            self.done.append(Fault(kind, began_at, ended_at, frozenset(pids), killed, general))

    # Processes

    def _kill(self, fault: Planned, pids: Collection[int]) -> Course:
        with self._noted(fault.kind, pids, killed=True):
            for pid in pids:
                send(pid, signal.SIGKILL)
        yield 0

    def _stop(self, fault: Planned, pids: Collection[int]) -> Course:
        """Stopped with locks in its hands, a process keeps the others from renewing."""
        with self._noted(fault.kind, pids, general=fault.lasts > plan.LEASE / 3):
            try:
                for pid in pids:
                    send(pid, signal.SIGSTOP)
                yield fault.lasts
            finally:
                for pid in pids:
                    send(pid, signal.SIGCONT)

    def _roll(self, fault: Planned, program: Program) -> Course:
        """As a deployment does. Whoever keeps up starts it again."""
        process = program.process
        gives_up_at = monotonic() + PATIENCE
        with self._noted(fault.kind, program.everybody()):
            send(process.pid, signal.SIGTERM)
            while process.poll() is None:
                if monotonic() > gives_up_at:
                    self.complaints.append(f"{program.name} did not stop in {PATIENCE:g} s")
                    return
                yield LOOK

    # Surroundings

    def _step_clock(self, fault: Planned) -> Course:
        moves = [(clock, step) for clock in self._stage.clocks for step in STEPS]
        clock, step = drawn(moves, fault.draw)
        with self._noted(fault.kind):
            clock.step(step)
        yield 0

    def _hold_snapshot(self, fault: Planned) -> Course:
        """On a connection of its own, which is closed by whatever else is done to the database."""
        reader = connection.copy()
        try:
            with self._noted(fault.kind), reader.cursor() as cursor:
                cursor.execute(SNAPSHOTS[connection.vendor])
                cursor.execute("SELECT count(*) FROM scheduling_task")
                yield fault.lasts
        except Error:
            return
        finally:
            reader.close()

    def _fill_disk(self, fault: Planned) -> Course:
        assert self._stage.disk
        with self._noted(fault.kind, general=True):
            try:
                self._stage.disk.fill()
                yield fault.lasts
            finally:
                self._stage.disk.empty()

    def _restart_database(self, fault: Planned) -> Course:
        server = self._stage.server
        assert server
        if not server.program.is_running():
            return  # another restart is under way
        with self._noted(fault.kind, general=True):
            server.stop("fast" if fault.draw < 0.5 else "immediate")
            try:
                yield fault.lasts
            finally:
                server.start()

    def _drop_connections(self, fault: Planned) -> Course:
        server = self._stage.server
        assert server
        if server.program.is_running():
            with self._noted(fault.kind, general=True):
                server.drop_connections()
        yield 0


def drawn(many: Sequence[T], draw: float) -> T:
    return many[int(draw * len(many))]


def leader(program: Program) -> list[int]:
    return [program.process.pid] if program.is_running() else []
