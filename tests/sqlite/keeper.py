"""A process at the write gate that does what it is told: `python -m tests.sqlite.keeper PATH`.

Each line on its standard input is a command, and is answered with one line.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from scheduling.sqlite.gate import GateTimeout, WriteGate, gate_for

ROOT = Path(__file__).resolve().parents[2]


class Keeper:
    """Such a process, seen from a test. Use it as a context manager."""

    def __init__(self, database: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(database)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Keeper":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def tell(self, command: str) -> None:
        assert self._process.stdin
        print(command, file=self._process.stdin, flush=True)

    def answer(self) -> str:
        assert self._process.stdout
        return str(self._process.stdout.readline()).strip()

    def ask(self, command: str) -> str:
        self.tell(command)
        return self.answer()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def enter(gate: WriteGate, timeout: float) -> str:
    try:
        gate.enter(gate, timeout)
    except GateTimeout:
        return "timeout"
    return "inside"


def leave(gate: WriteGate) -> str:
    gate.leave(gate)
    return "outside"


def enter_in_child(database: str) -> str:
    """What a forked child is told at the gate that its parent stands in."""
    child = os.fork()
    if child == 0:
        os._exit(0 if enter(gate_for(database), 0.1) == "inside" else 1)
    _, status = os.waitpid(child, 0)
    return "inside" if status == 0 else "timeout"


def count(gate: WriteGate, counter: Path, times: int) -> str:
    """Add to a number in a file, which only somebody alone at it can do without losing count."""
    for _ in range(times):
        gate.enter(gate, 30.0)
        counter.write_text(str(int(counter.read_text()) + 1))
        gate.leave(gate)
    return "counted"


def main(database: str) -> None:
    gate = gate_for(database)
    for line in sys.stdin:
        match line.split():
            case ["enter", timeout]:
                answer = enter(gate, float(timeout))
            case ["leave"]:
                answer = leave(gate)
            case ["fork"]:
                answer = enter_in_child(database)
            case ["count", counter, times]:
                answer = count(gate, Path(counter), int(times))
            case command:
                raise ValueError(f"Not a command: {command}")
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
