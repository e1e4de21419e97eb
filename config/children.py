"""Owns programs that run together: started together, and when one ends, all do."""

import ctypes
import signal
import socket
import subprocess  # nosec B404  # our own programs
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

STOP = frozenset({signal.SIGINT, signal.SIGTERM})
AWAITED = STOP | {signal.SIGCHLD}
PR_SET_PDEATHSIG = 1  # from Linux's prctl.h

NONE: Mapping[str, socket.socket] = MappingProxyType({})

Child = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Ending:
    """How a program ended: its name, and its exit code as ``subprocess`` reports it."""

    name: str
    returncode: int

    def __str__(self) -> str:
        if self.returncode < 0:
            return f"{self.name} was killed by {signal.Signals(-self.returncode).name}"
        return f"{self.name} ended with exit code {self.returncode}"


def run_together(
    programs: Mapping[str, Sequence[str]],
    *,
    cwd: Path,
    listeners: Mapping[str, socket.socket] = NONE,
) -> list[Ending]:
    """Run the programs until SIGINT or SIGTERM comes or one of them ends; end the others; wait.

    A program is given its listener, under the same file descriptor; here it is closed then.

    Returns those that ended by themselves: none after a signal. Each further signal is handed on,
    so that a program may take the second one for "now". From here on the calling thread takes these
    signals by awaiting them and is not interrupted by them.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    children = {}
    for name, program in programs.items():
        given = [listeners[name].fileno()] if name in listeners else []
        children[name] = subprocess.Popen(  # nosec B603  # no shell
            program, cwd=cwd, pass_fds=given, preexec_fn=_become_child
        )
    for listener in listeners.values():
        listener.close()
    endings = _first_endings(children)
    _end(children.values())
    return endings


def _first_endings(children: Mapping[str, Child]) -> list[Ending]:
    """Wait for a child to end, or for a signal that asks for it, and say who ended unasked."""
    while True:
        ended = {name: child.poll() for name, child in children.items()}
        endings = [Ending(name, code) for name, code in ended.items() if code is not None]
        if endings or signal.sigwait(AWAITED) in STOP:
            return endings


def _end(children: Collection[Child]) -> None:
    """Ask every child to stop and wait until the last one has."""
    asked = True
    while running := [child for child in children if child.poll() is None]:
        if asked:
            for child in running:
                child.terminate()
        asked = signal.sigwait(AWAITED) in STOP


def _become_child() -> None:
    """Runs in the new process, before its program.

    Ctrl-C reaches every process of the terminal's group. Only the parent listens to it, so that a
    child gets one request to stop, not two. On Linux a child is also asked to stop when its parent
    was killed, so that nothing is left behind that holds the port.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGINT})
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
